// SIGTERM and SIGINT as something to wait for.
//
//   StopSignals signals;          // before any other thread is started
//   ...
//   const int signal = signals.wait();
//
// The second one ends the program at once, with 128 + its number: whoever asks twice is in a hurry.
#pragma once

#include <memory>

namespace tessera {

class StopSignals {
  public:
    StopSignals();
    ~StopSignals();  // the signals do again what they did before
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    // Waits for the first one and returns its number.
    int wait();

  private:
    struct Inner;
    std::unique_ptr<Inner> inner_;
};

}  // namespace tessera
