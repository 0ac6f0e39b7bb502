// One row of a trace under its header: fields by column name, numbers with their bounds, and errors
// that read "file:line:column: name: what is wrong".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "codec/csv.h"

namespace tessera {

// A column's place in the header; absent when the file does not have it.
struct TraceColumn {
    std::string_view name;
    std::size_t index = 0;
    bool present = false;
};

class TraceHeader {
  public:
    // Refuses a header that names a column twice.
    static Expected<TraceHeader> make(CsvRow row, std::string_view file);

    bool has(std::string_view name) const { return column(name).present; }
    TraceColumn column(std::string_view name) const;
    std::size_t size() const { return row_.fields.size(); }

  private:
    CsvRow row_;
};

class TraceRow {
  public:
    TraceRow(const CsvRow& row, std::string_view file) : row_(row), file_(file) {}

    // Empty for an absent column.
    std::string_view text(const TraceColumn& column) const;
    Expected<std::int64_t> integer(const TraceColumn& column, std::int64_t low,
                                   std::int64_t high) const;
    Expected<double> number(const TraceColumn& column, double low, double high) const;
    // Nothing when the field is empty or the column absent.
    Expected<std::optional<double>> optional_number(const TraceColumn& column, double low,
                                                    double high) const;
    // "2017-10-09 07:01:55" in seconds since 1970 (no time zone: differences matter).
    Expected<double> timestamp(const TraceColumn& column) const;

    tl::unexpected<Error> wrong(const TraceColumn& column, std::string_view what) const;
    std::size_t line() const { return row_.line; }

  private:
    const CsvRow& row_;
    std::string_view file_;
};

}  // namespace tessera
