package argocd

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// cacheVersion is part of the keys of Argo CD's cache (common.CacheVersion there).
const cacheVersion = "1.8.3"

// Diff returns the fields that Argo CD finds different from Git, as its diff shows them:
// "deployment/web spec.replicas". It reads them where Argo CD's server does, in Redis, so they are
// those of the last comparison.
func (a *Application) Diff(ctx context.Context, redis string) ([]string, error) {
	text, err := get(ctx, redis, "app|managed-resources|"+a.Name+"|"+cacheVersion+".gz")
	if err != nil {
		return nil, fmt.Errorf("read the diff of %s: %w", a.Name, err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the diff of %s: %w", a.Name, err)
	}
	var objects []struct {
		Kind, Name                              string
		NormalizedLiveState, PredictedLiveState string
	}
	if err := json.NewDecoder(unpacked).Decode(&objects); err != nil {
		return nil, fmt.Errorf("read the diff of %s: %w", a.Name, err)
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("the diff of %s knows no object", a.Name)
	}
	var found []string
	for _, o := range objects {
		var live, wanted any
		if err := errors.Join(json.Unmarshal([]byte(o.NormalizedLiveState), &live), json.Unmarshal([]byte(o.PredictedLiveState), &wanted)); err != nil {
			return nil, fmt.Errorf("the diff of %s %s: %w", o.Kind, o.Name, err)
		}
		for _, field := range differing("", live, wanted) {
			found = append(found, strings.ToLower(o.Kind)+"/"+o.Name+" "+field)
		}
	}
	slices.Sort(found)
	return found, nil
}

// differing names the fields in which two objects differ.
func differing(path string, a, b any) []string {
	x, isMap := a.(map[string]any)
	y, areMaps := b.(map[string]any)
	if !isMap || !areMaps {
		if reflect.DeepEqual(a, b) {
			return nil
		}
		return []string{strings.TrimPrefix(path, ".")}
	}
	var found []string
	for key := range x {
		found = append(found, differing(path+"."+key, x[key], y[key])...)
	}
	for key := range y {
		if _, seen := x[key]; !seen {
			found = append(found, differing(path+"."+key, nil, y[key])...)
		}
	}
	return found
}

// get asks Redis for one value.
func get(ctx context.Context, address, key string) ([]byte, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n", len(key), key); err != nil {
		return nil, err
	}
	answer := bufio.NewReader(conn)
	head, err := answer.ReadString('\n')
	if err != nil {
		return nil, err
	}
	length, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(head, "$")))
	if err != nil || length < 0 {
		return nil, fmt.Errorf("the answer for %s is %q", key, strings.TrimSpace(head))
	}
	value := make([]byte, length)
	_, err = io.ReadFull(answer, value)
	return value, err
}
