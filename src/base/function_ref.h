// A reference to something callable, for the length of a call: no allocation, no ownership.
//
//   bool each(FunctionRef<bool(int)> visit);
//   each([&](int i) { return i < limit; });
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace tessera {

template <class Signature>
class FunctionRef;

template <class Result, class... Args>
class FunctionRef<Result(Args...)> {
  public:
    template <class Callable>
        requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef> &&
                 std::is_invocable_r_v<Result, Callable&, Args...>)
    FunctionRef(const Callable& callable)  // NOLINT: implicit, so that a lambda can be passed
        : object_(std::addressof(callable)), call_([](const void* object, Args... args) -> Result {
              return (*static_cast<const Callable*>(object))(std::forward<Args>(args)...);
          }) {}

    Result operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

  private:
    const void* object_;
    Result (*call_)(const void*, Args...);
};

}  // namespace tessera
