// Reads kubeconfig files: where an API server is, and who we are there, for one context.
//
//   TESSERA_TRY(const Kubeconfig config, parse_kubeconfig(text, "admin.conf", ""));
//
// Text in, values out, no file is touched: access.h reads the files and makes a client's options.
// What a program other than kubectl cannot do (plugins that print a token) or should not do
// silently (act as somebody else) is refused, with what to do instead.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace tessera {

// A value that is given in place, or by the name of a file. In place wins, as in kubectl.
struct DataOrFile {
    std::string data;  // decoded
    std::string file;  // relative to the kubeconfig's directory, unless absolute

    bool given() const { return !data.empty() || !file.empty(); }
};

struct Kubeconfig {
    std::string context;
    std::string server;
    std::string space;  // the context's namespace; empty: none is given
    std::string tls_server_name;
    std::string proxy_url;
    bool skip_verify = false;
    DataOrFile authority;
    DataOrFile certificate;
    DataOrFile key;
    std::string token;
    std::string token_file;  // wins over the token, and is read again when it changes
};

// `context` empty: the file's current-context. Errors are "SOURCE:LINE: reason".
Expected<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& source,
                                      std::string_view context);

}  // namespace tessera
