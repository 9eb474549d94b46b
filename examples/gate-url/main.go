// Gate-url lets no reload start while alerts fire. Reroll asks it before each reload (--gate-url),
// and it asks Prometheus for the alerts that fire.
//
// An alert counts if its label "namespace" is the namespace of the workload, or if it has no such
// label and its label "severity" is "critical".
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"slices"
	"strings"
	"time"
)

func main() {
	listen := flag.String("listen", ":8080", "address on which to answer Reroll")
	prometheus := flag.String("prometheus", "http://prometheus:9090", "address of Prometheus")
	flag.Parse()
	server := &http.Server{
		Addr: *listen, ReadHeaderTimeout: 5 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r, *prometheus) }),
	}
	log.Fatal(server.ListenAndServe())
}

// answer answers 200 if the reload may start. With any other code, it waits, and users see the
// text.
func answer(w http.ResponseWriter, r *http.Request, prometheus string) {
	// Reroll waits for five seconds.
	ctx, cancel := context.WithTimeout(r.Context(), 3*time.Second)
	defer cancel()
	names, err := firing(ctx, prometheus, r.URL.Query().Get("namespace"))
	switch {
	case err != nil:
		http.Error(w, "Prometheus does not show which alerts fire", http.StatusBadGateway)
	case len(names) > 0:
		http.Error(w, "alerts fire: "+strings.Join(names, ", "), http.StatusConflict)
	}
}

var errPrometheus = errors.New("the answer of Prometheus is not a list of alerts")

// firing returns the names of the alerts that count for a namespace.
func firing(ctx context.Context, prometheus, namespace string) ([]string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, prometheus+"/api/v1/alerts", nil)
	if err != nil {
		return nil, fmt.Errorf("ask Prometheus: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask Prometheus: %w", err)
	}
	defer response.Body.Close()
	var all struct {
		Status string
		Data   struct {
			Alerts []struct {
				Labels map[string]string
				State  string
			}
		}
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 16<<20)).Decode(&all); err != nil || all.Status != "success" {
		return nil, errPrometheus
	}
	var names []string
	for _, alert := range all.Data.Alerts {
		labels := alert.Labels
		counts := labels["namespace"] == namespace || labels["namespace"] == "" && labels["severity"] == "critical"
		if counts && alert.State == "firing" && !slices.Contains(names, labels["alertname"]) {
			names = append(names, labels["alertname"])
		}
	}
	return names, nil
}
