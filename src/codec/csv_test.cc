#include "codec/csv.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

std::vector<std::string> texts(std::string_view line) {
    std::vector<std::string> out;
    const auto fields = split_csv_line(line);
    EXPECT_TRUE(fields.has_value());
    for (const CsvField& field : *fields) {
        out.push_back(field.text);
    }
    return out;
}

using Strings = std::vector<std::string>;

TEST(Csv, SplitsPlainAndEmptyFields) {
    EXPECT_EQ(texts("a,b,c"), (Strings{"a", "b", "c"}));
    EXPECT_EQ(texts("a,,"), (Strings{"a", "", ""}));
    EXPECT_EQ(texts(","), (Strings{"", ""}));
}

TEST(Csv, UnquotesFields) {
    EXPECT_EQ(texts(R"("a,b","say ""yes""",x)"), (Strings{"a,b", "say \"yes\"", "x"}));
    EXPECT_EQ(texts(R"("",)"), (Strings{"", ""}));
}

TEST(Csv, RefusesOpenQuotesAndTextAfterQuotes) {
    EXPECT_EQ(split_csv_line("a,\"b").error().message,
              "3: a quote that opens here is never closed on its line");
    EXPECT_EQ(split_csv_line("\"a\"b").error().message, "4: expected a comma after a quoted field");
}

TEST(Csv, ReaderCountsLinesAndColumns) {
    CsvReader reader("\xef\xbb\xbfh1,h2\r\n\r\n12,345\n\"x\n7,8");
    CsvRow row;
    std::string error;
    ASSERT_TRUE(reader.next(row, error));
    EXPECT_EQ(row.fields[0].text, "h1");
    EXPECT_EQ(row.fields[1].text, "h2");
    ASSERT_TRUE(reader.next(row, error));
    EXPECT_EQ(row.line, 3U);
    EXPECT_EQ(row.fields[1].column, 4U);
    ASSERT_TRUE(reader.next(row, error));
    EXPECT_EQ(error, "4:1: a quote that opens here is never closed on its line");
    ASSERT_TRUE(reader.next(row, error));
    EXPECT_TRUE(error.empty());
    EXPECT_EQ(row.line, 5U);
    EXPECT_FALSE(reader.next(row, error));
}

TEST(Csv, WritesFieldsThatReadBack) {
    for (const std::string text : {"plain", "a,b", "say \"yes\"", ""}) {
        EXPECT_EQ(texts(csv_field(text)), Strings{text});
    }
}

}  // namespace
}  // namespace tessera
