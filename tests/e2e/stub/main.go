// A scheduler extender that decides nothing: it reads a request as Go does, answers every node that was
// sent with score 0, and binds by one POST. The rig is proved with it, and it is the measure of what an
// extender costs at least.
//
//	stub -server https://127.0.0.1:6443 -token-file F -ca-file F [-listen 127.0.0.1:0]
//
// The first line of its output is "listening on ADDRESS".
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
)

type nodeItem struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
}

type extenderArgs struct {
	Pod   json.RawMessage
	Nodes *struct {
		Items []json.RawMessage `json:"items"`
	}
	NodeNames *[]string
}

type filterResult struct {
	Nodes                      any
	NodeNames                  *[]string
	FailedNodes                map[string]string
	FailedAndUnresolvableNodes map[string]string
	Error                      string
}

type hostPriority struct {
	Host  string
	Score int64
}

type bindArgs struct {
	PodName, PodNamespace, PodUID, Node string
}

type bindResult struct {
	Error string
}

type apiServer struct {
	url, token string
	client     *http.Client
}

func readArgs(request *http.Request) (extenderArgs, error) {
	var args extenderArgs
	err := json.NewDecoder(request.Body).Decode(&args)
	return args, err
}

func answer(writer http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		http.Error(writer, err.Error(), http.StatusInternalServerError)
		return
	}
	writer.Header().Set("Content-Type", "application/json")
	writer.WriteHeader(status)
	_, _ = writer.Write(text)
}

func filter(writer http.ResponseWriter, request *http.Request) {
	args, err := readArgs(request)
	if err != nil {
		answer(writer, http.StatusOK, filterResult{Error: err.Error()})
		return
	}
	result := filterResult{NodeNames: args.NodeNames}
	if args.Nodes != nil {
		result.Nodes = args.Nodes
	}
	answer(writer, http.StatusOK, result)
}

func prioritize(writer http.ResponseWriter, request *http.Request) {
	args, err := readArgs(request)
	if err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	scores := []hostPriority{}
	if args.NodeNames != nil {
		for _, name := range *args.NodeNames {
			scores = append(scores, hostPriority{Host: name})
		}
	} else if args.Nodes != nil {
		for _, text := range args.Nodes.Items {
			var node nodeItem
			if json.Unmarshal(text, &node) == nil {
				scores = append(scores, hostPriority{Host: node.Metadata.Name})
			}
		}
	}
	answer(writer, http.StatusOK, scores)
}

func (server *apiServer) bind(writer http.ResponseWriter, request *http.Request) {
	var args bindArgs
	if err := json.NewDecoder(request.Body).Decode(&args); err != nil {
		answer(writer, http.StatusInternalServerError, bindResult{err.Error()})
		return
	}
	if err := server.postBinding(args); err != nil {
		answer(writer, http.StatusInternalServerError, bindResult{err.Error()})
		return
	}
	answer(writer, http.StatusOK, bindResult{})
}

func (server *apiServer) postBinding(args bindArgs) error {
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Binding",
		"metadata": map[string]string{
			"name": args.PodName, "namespace": args.PodNamespace, "uid": args.PodUID},
		"target": map[string]string{"apiVersion": "v1", "kind": "Node", "name": args.Node}})
	if err != nil {
		return err
	}
	url := fmt.Sprintf("%s/api/v1/namespaces/%s/pods/%s/binding", server.url, args.PodNamespace,
		args.PodName)
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+server.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := server.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s: %s", response.Status, text)
	}
	return nil
}

func connect(url, tokenFile, caFile string) (*apiServer, error) {
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s: no certificate in it", caFile)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConnsPerHost: 64}
	return &apiServer{strings.TrimSuffix(url, "/"), strings.TrimSpace(string(token)),
		&http.Client{Transport: transport}}, nil
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to serve on")
	url := flag.String("server", "", "URL of the API server")
	tokenFile := flag.String("token-file", "", "file with a bearer token")
	caFile := flag.String("ca-file", "", "file with the API server's authority")
	flag.Parse()
	server, err := connect(*url, *tokenFile, *caFile)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on %s\n", listener.Addr())
	http.HandleFunc("POST /stub/filter", filter)
	http.HandleFunc("POST /stub/prioritize", prioritize)
	http.HandleFunc("POST /stub/bind", server.bind)
	log.Fatal(http.Serve(listener, nil))
}
