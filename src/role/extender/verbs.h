// The verbs, one file each; routes.cc says by which paths they are called.
#pragma once

#include "role/extender/desk.h"

namespace tessera {

HttpResponse filter(Desk& desk, Call& call);
HttpResponse filter_error(int status, std::string_view message);
HttpResponse prioritize(Desk& desk, Call& call);
void bind(Desk& desk, Call& call, Responder respond);  // answers when the API server has
HttpResponse preempt(Desk& desk, Call& call);
HttpResponse explain_pod(Desk& desk, Call& call);

HttpResponse inspect(Desk& desk, Call& call);
HttpResponse inspect_gpushare(Desk& desk, Call& call);
HttpResponse status_elastic(Desk& desk, Call& call);

HttpResponse version(Desk& desk, Call& call);
HttpResponse healthz(Desk& desk, Call& call);
HttpResponse readyz(Desk& desk, Call& call);
HttpResponse metrics(Desk& desk, Call& call);

}  // namespace tessera
