package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// tellWrites tells which fields of the opted-in Deployment the API server has on record as written
// by Reroll.
func (d *demo) tellWrites(ctx context.Context) error {
	obj, err := d.client.AppsV1().Deployments(d.namespace.Name).Get(ctx, optedIn, metav1.GetOptions{})
	if err != nil {
		return err
	}
	var written []string
	for _, manager := range obj.ManagedFields {
		if manager.Manager != "reroll" {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal(manager.FieldsV1.GetRawBytes(), &fields); err != nil {
			return fmt.Errorf("read which fields Reroll owns: %w", err)
		}
		written = append(written, leaves(fields)...)
	}
	slices.Sort(written)
	written = slices.Compact(written)
	d.story.Tell("written", "%s: %s; nothing else", optedIn, strings.Join(written, " and "))
	return nil
}

// leaves names what a managedFields tree ends in: annotations by their key, variables by their
// name.
func leaves(fields map[string]any) []string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		inner, _ := fields[name].(map[string]any)
		switch {
		case name == "f:annotations":
			for key := range inner {
				if key != "." {
					found = append(found, "annotation "+strings.TrimPrefix(key, "f:"))
				}
			}
		case name == "f:env":
			for key := range inner {
				if item, ok := strings.CutPrefix(key, "k:"); ok {
					var named struct{ Name string }
					_ = json.Unmarshal([]byte(item), &named)
					found = append(found, "env "+named.Name)
				}
			}
		case len(inner) > 0:
			found = append(found, leaves(inner)...)
		case name != ".":
			found = append(found, strings.TrimPrefix(name, "f:"))
		}
	}
	return found
}
