module tessera.dev/stub

go 1.26.0
