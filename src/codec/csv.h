// Comma-separated rows with the place of every field, so that an error can point at it.
//
// One record per line; a field may be quoted ("" inside quotes is a quote), line ends may be LF or
// CRLF, a byte order mark and empty lines are skipped. A quoted field does not span lines: in the
// traces that we read, an open quote is a broken row, not the start of a long one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tessera {

struct CsvField {
    std::string text;
    std::size_t column = 1;  // of its first byte in the line, from 1
};

struct CsvRow {
    std::size_t line = 0;  // from 1, the header counted
    std::vector<CsvField> fields;
};

class CsvReader {
  public:
    explicit CsvReader(std::string_view text);

    // Moves to the next record; false at the end. `error` says what is wrong with the record
    // ("line:column: ..."), which is consumed all the same.
    bool next(CsvRow& row, std::string& error);

  private:
    std::string_view next_line();

    std::string_view rest_;
    std::size_t line_ = 0;
};

// Splits one line; exposed for the fuzzer. The message names the column within the line.
Expected<std::vector<CsvField>> split_csv_line(std::string_view line);

// A field as written to a file: quoted only where it must be.
std::string csv_field(std::string_view text);

}  // namespace tessera
