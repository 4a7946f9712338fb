// What Prometheus makes of series: promql reads one question as JSON and answers as JSON. It is Prometheus' own engine and
// its own rules without what finds, asks and stores, which would take three times as long to build.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

type question struct {
	Rules   string            `json:"rules"`   // a file; its rules are judged once a minute
	Series  map[string]string `json:"series"`  // to their values, one a minute, as promtool's tests write them
	Minutes []int             `json:"minutes"` // when it is asked, in ascending order
	Queries []string          `json:"queries"`
}

type alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

type answer struct {
	Values   []string `json:"values"`   // of a query, one for each series
	Warnings []string `json:"warnings"` // what Prometheus has to say beside them
}

type moment struct {
	Firing  []alert  `json:"firing"`
	Answers []answer `json:"answers"` // in the order of the queries
}

func main() {
	var asked question
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		fail(err)
	}
	told, err := tell(asked)
	if err != nil {
		fail(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(told); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "promql:", err)
	os.Exit(1)
}

func tell(asked question) ([]moment, error) {
	var load strings.Builder
	load.WriteString("load 1m\n")
	for _, name := range slices.Sorted(maps.Keys(asked.Series)) {
		fmt.Fprintf(&load, "  %s %s\n", name, asked.Series[name])
	}
	series, err := promqltest.NewLazyLoader(load.String(), promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true})
	if err != nil {
		return nil, err
	}
	defer series.Close()
	groups, err := groupsOf(asked.Rules, series)
	if err != nil {
		return nil, err
	}

	var told []moment
	for minute := 0; len(told) < len(asked.Minutes); minute++ {
		now := time.Unix(int64(minute)*60, 0)
		var failed error
		series.WithSamplesTill(now, func(err error) { failed = err })
		if failed == nil {
			failed = judge(groups, now)
		}
		if failed != nil {
			return nil, failed
		}
		if minute == asked.Minutes[len(told)] {
			answers, err := answersTo(asked.Queries, series, now)
			if err != nil {
				return nil, err
			}
			told = append(told, moment{firing(groups), answers})
		}
	}
	return told, nil
}

// groupsOf reads a file of rules as strictly as Prometheus does.
func groupsOf(file string, series *promqltest.LazyLoader) ([]*rules.Group, error) {
	if file == "" {
		return nil, nil
	}
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:  rules.EngineQueryFunc(series.QueryEngine(), series.Storage()),
		Appendable: series.Storage(),
		Context:    context.Background(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
		Logger:     promslog.NewNopLogger(),
	})
	groups, errs := manager.LoadGroups(time.Minute, labels.EmptyLabels(), "", nil, false, file)
	if len(errs) > 0 {
		return nil, fmt.Errorf("%v", errs)
	}
	return slices.Collect(maps.Values(groups)), nil
}

func judge(groups []*rules.Group, now time.Time) error {
	for _, group := range groups {
		group.Eval(context.Background(), now)
		for _, rule := range group.Rules() {
			if err := rule.LastError(); err != nil {
				return fmt.Errorf("%s: %w", rule.Name(), err)
			}
		}
	}
	return nil
}

func firing(groups []*rules.Group) []alert {
	found := []alert{}
	for _, group := range groups {
		for _, rule := range group.AlertingRules() {
			for _, active := range rule.ActiveAlerts() {
				if active.State == rules.StateFiring {
					found = append(found, alert{active.Labels.Map(), active.Annotations.Map()})
				}
			}
		}
	}
	return found
}

func answersTo(queries []string, series *promqltest.LazyLoader, now time.Time) ([]answer, error) {
	answers := []answer{}
	for _, text := range queries {
		query, err := series.QueryEngine().NewInstantQuery(context.Background(), series.Queryable(), nil, text, now)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		result := query.Exec(context.Background())
		vector, err := result.Vector()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		answers = append(answers, answer{valuesOf(vector), warningsOf(result, text)})
		query.Close()
	}
	return answers, nil
}

func valuesOf(vector promql.Vector) []string {
	values := []string{}
	for _, sample := range vector {
		values = append(values, fmt.Sprint(sample.F))
	}
	return values
}

func warningsOf(result *promql.Result, text string) []string {
	warnings, infos := result.Warnings.AsStrings(text, 0, 0)
	return append(append([]string{}, warnings...), infos...)
}
