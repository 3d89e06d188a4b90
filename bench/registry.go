package main

import (
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"time"
)

// registry is the address of a schema registry that has the schemas of this
// program's shapes. It is a part of the program: what is measured asks it once.
func (k *kit) registry() (string, error) {
	if k.schemas != "" {
		return k.schemas, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // at once
	if err != nil {
		return "", err
	}
	k.schemas = "http://" + l.Addr().String()
	k.server = &http.Server{Handler: http.HandlerFunc(serveSchema), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = k.server.Serve(l) }()
	return k.schemas, nil
}

func serveSchema(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
	var answer map[string]string
	switch r.URL.Path {
	case "/schemas/ids/" + strconv.Itoa(avroID):
		answer = map[string]string{"schema": avroSchema}
	case "/schemas/ids/" + strconv.Itoa(protobufID):
		answer = map[string]string{"schema": protobufSchema, "schemaType": "PROTOBUF"}
	default:
		w.WriteHeader(http.StatusNotFound)
		answer = map[string]string{"message": "Schema not found"}
	}
	_ = json.NewEncoder(w).Encode(answer)
}
