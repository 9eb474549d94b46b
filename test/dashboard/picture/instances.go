package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/reroll-dev/reroll/test/dashboard"
	"github.com/reroll-dev/reroll/test/harness"
)

// instances are those that run, by the names of their pods. One that is about to be stopped is not
// scraped any more.
type instances struct {
	mu  sync.Mutex
	all map[string]*harness.Controller
}

func (i *instances) set(pod string, c *harness.Controller) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.all == nil {
		i.all = map[string]*harness.Controller{}
	}
	i.all[pod] = c
}

func (i *instances) kill() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, c := range i.all {
		c.Kill()
	}
}

// scrape reads what all of them serve, with the labels that an operator's scraper puts on it.
func (i *instances) scrape(ctx context.Context, at int64) ([]dashboard.Scrape, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var all []dashboard.Scrape
	for _, pod := range slices.Sorted(maps.Keys(i.all)) {
		text, err := i.all[pod].Metrics(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, dashboard.Scrape{At: at, Labels: map[string]string{"namespace": namespace, "pod": pod, "job": "reroll"}, Text: text})
	}
	return all, nil
}

// stopTheActing stops the instance that acts and returns the name of its pod.
func (i *instances) stopTheActing(ctx context.Context) (string, error) {
	pod, err := i.acting(ctx)
	if err != nil {
		return "", err
	}
	i.mu.Lock()
	c := i.all[pod]
	delete(i.all, pod)
	i.mu.Unlock()
	return pod, c.Stop(ctx)
}

// acting is the name of the pod that acts.
func (i *instances) acting(ctx context.Context) (string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for pod, c := range i.all {
		acting, err := c.Metric(ctx, "reloader_acting", nil)
		if err != nil {
			return "", err
		}
		if acting.Sum == 1 {
			return pod, nil
		}
	}
	return "", errors.New("no instance acts")
}
