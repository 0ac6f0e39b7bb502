#include "codec/csv.h"

namespace tessera {

namespace {

// Reads a quoted field that starts at `at`; leaves `at` after the closing quote.
Expected<std::string> quoted_field(std::string_view line, std::size_t& at) {
    const std::size_t start = at++;
    std::string text;
    while (at < line.size()) {
        const char c = line[at++];
        if (c != '"') {
            text.push_back(c);
        } else if (at < line.size() && line[at] == '"') {
            text.push_back('"');
            ++at;
        } else {
            return text;
        }
    }
    return fail(ErrorKind::invalid, "{}: a quote that opens here is never closed on its line",
                start + 1);
}

}  // namespace

Expected<std::vector<CsvField>> split_csv_line(std::string_view line) {
    std::vector<CsvField> fields;
    std::size_t at = 0;
    while (true) {
        CsvField field;
        field.column = at + 1;
        if (at < line.size() && line[at] == '"') {
            TESSERA_TRY(field.text, quoted_field(line, at));
            if (at < line.size() && line[at] != ',') {
                return fail(ErrorKind::invalid, "{}: expected a comma after a quoted field",
                            at + 1);
            }
        } else {
            const std::size_t comma = line.find(',', at);
            const std::size_t end = comma == std::string_view::npos ? line.size() : comma;
            field.text = line.substr(at, end - at);
            at = end;
        }
        fields.push_back(std::move(field));
        if (at >= line.size()) {
            return fields;
        }
        ++at;  // the comma
    }
}

CsvReader::CsvReader(std::string_view text) : rest_(text) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (rest_.starts_with(kByteOrderMark)) {
        rest_.remove_prefix(kByteOrderMark.size());
    }
}

std::string_view CsvReader::next_line() {
    ++line_;
    const std::size_t end = rest_.find('\n');
    std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    return line;
}

bool CsvReader::next(CsvRow& row, std::string& error) {
    error.clear();
    row.fields.clear();
    while (!rest_.empty()) {
        const std::string_view line = next_line();
        if (line.empty()) {
            continue;
        }
        row.line = line_;
        auto fields = split_csv_line(line);
        if (fields) {
            row.fields = std::move(*fields);
        } else {
            error = fmt::format("{}:{}", line_, fields.error().message);
        }
        return true;
    }
    return false;
}

std::string csv_field(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
        return std::string(text);
    }
    std::string quoted = "\"";
    for (const char c : text) {
        quoted.push_back(c);
        if (c == '"') {
            quoted.push_back('"');
        }
    }
    quoted.push_back('"');
    return quoted;
}

}  // namespace tessera
