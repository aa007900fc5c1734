// Package traces tests a whole platform against a real OpenTelemetry collector.
package traces

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

const (
	clientsTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	clientsSpan  = "00f067aa0ba902b7"
)

// tree holds the spans of a trace, by parent.
type tree struct {
	spans    []span
	children map[string][]span
}

func treeOf(spans []span) tree {
	children := map[string][]span{}
	for _, one := range spans {
		parent := one.ParentSpanID().String()
		children[parent] = append(children[parent], one)
	}
	return tree{spans, children}
}

// below returns the spans of this name below a span, of which there must be count.
func (tr tree) below(t *testing.T, parent, name string, count int) []span {
	t.Helper()
	var found []span
	for _, one := range tr.children[parent] {
		if one.Name() == name {
			found = append(found, one)
		}
	}
	if len(found) != count {
		t.Fatalf("%d spans %q in place of %d below %s: %v", len(found), name, count, parent, tr)
	}
	return found
}

func (tr tree) String() string {
	var text strings.Builder
	for _, one := range tr.spans {
		fmt.Fprintf(&text, "\n%s: %s %s below %s", one.service, one.Name(), one.SpanID(), one.ParentSpanID())
	}
	return text.String()
}

func within(t *testing.T, inner, outer span) {
	t.Helper()
	if inner.StartTimestamp() < outer.StartTimestamp() || inner.EndTimestamp() > outer.EndTimestamp() {
		t.Errorf("%s is not within %s", inner.Name(), outer.Name())
	}
	if inner.EndTimestamp() < inner.StartTimestamp() {
		t.Errorf("%s ends before it begins", inner.Name())
	}
}

func equal[A comparable](t *testing.T, what string, found, expected A) {
	t.Helper()
	if found != expected {
		t.Errorf("%s is %v in place of %v", what, found, expected)
	}
}

func TestOneFlareIsOneTrace(t *testing.T) {
	oneFlareIsOneTrace(t, startPlatform)
}

func TestOneFlareIsOneTraceOfSeveralProcesses(t *testing.T) {
	oneFlareIsOneTrace(t, startCluster)
}

func oneFlareIsOneTrace(t *testing.T, start func(testing.TB, ...string) *platform) {
	t.Helper()
	collector := startCollector(t)
	platform := start(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.endpoint)
	platform.deploy(t, "pi", root+"/dist/examples/montecarlo")
	status, body := platform.flare(t, "pi", `{"size":8,"granularity":4,"packing":"homogeneous","params":{"samples":1000}}`,
		map[string]string{
			"traceparent":  "00-" + clientsTrace + "-" + clientsSpan + "-01",
			"X-Request-Id": "from-the-test",
		})
	if status != 200 {
		t.Fatalf("%d: %s", status, body)
	}
	// The request, the flare, its wait and placement; two packs with start and run; eight workers with two phases.
	const all = 4 + 2*3 + 8*3
	spans := collector.arrived.trace(t, clientsTrace, all)
	equal(t, "the number of spans", len(spans), all)
	tree := treeOf(spans)
	request := tree.below(t, clientsSpan, "POST /api/v1/namespaces/{namespace}/bursts/{name}", 1)[0]
	equal(t, "its kind", request.Kind(), ptrace.SpanKindServer)
	equal(t, "its service", request.service, "burst-controller")
	equal(t, "its transaction", request.text("burst.transaction"), "from-the-test")
	equal(t, "its status", request.text("http.response.status_code"), "200")
	flare := tree.below(t, request.SpanID().String(), "flare", 1)[0]
	equal(t, "its definition", flare.text("burst.definition"), "pi")
	equal(t, "its size", flare.text("burst.size"), "8")
	equal(t, "its state", flare.text("burst.state"), "succeeded")
	within(t, flare, request)
	for _, name := range []string{"queue", "placement"} {
		within(t, tree.below(t, flare.SpanID().String(), name, 1)[0], flare)
	}
	workers := map[string]bool{}
	for _, pack := range tree.below(t, flare.SpanID().String(), "pack", 2) {
		equal(t, "its service", pack.service, "burst-invoker")
		if how := pack.text("burst.start"); how != "cold" && how != "prewarmed" {
			t.Errorf("it came up %q", how)
		}
		start := tree.below(t, pack.SpanID().String(), "start", 1)[0]
		run := tree.below(t, pack.SpanID().String(), "run", 1)[0]
		within(t, start, pack)
		within(t, run, pack)
		for _, worker := range tree.below(t, run.SpanID().String(), "worker", 4) {
			equal(t, "its service", worker.service, "burst-runtime")
			equal(t, "its pack", worker.text("burst.pack"), pack.text("burst.pack"))
			workers[worker.text("burst.worker")] = true
			within(t, worker, run)
			for _, phase := range []string{"sample", "reduce"} {
				within(t, tree.below(t, worker.SpanID().String(), phase, 1)[0], worker)
			}
		}
	}
	equal(t, "the number of workers", len(workers), 8)
	for _, one := range spans {
		equal(t, "a status", one.Status().Code(), ptrace.StatusCodeUnset)
		if strings.Contains(fmt.Sprint(one.Attributes().AsRaw()), "samples") {
			t.Errorf("%s tells of parameters", one.Name())
		}
	}
}

func TestUserCodeJoinsInAndFailuresAreTold(t *testing.T) {
	collector := startCollector(t)
	platform := startPlatform(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.endpoint, "BURST_LOG_FORMAT=json")
	function := "import os\ndef main(args):\n    if 'fail' in args: raise ValueError('hunter2')\n" +
		"    return {'traceparent': os.environ['TRACEPARENT']}\n"
	platform.deploy(t, "context", file(t, "context.py", function))
	status, body := platform.flare(t, "context", `{"size":2}`, nil)
	if status != 200 {
		t.Fatalf("%d: %s", status, body)
	}
	var results struct {
		Outputs []struct{ Output struct{ Traceparent string } }
	}
	if err := json.Unmarshal(body, &results); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	equal(t, "the number of results", len(results.Outputs), 2)
	for _, result := range results.Outputs {
		output := result.Output
		parts := strings.Split(output.Traceparent, "-")
		if len(parts) != 4 || parts[3] != "01" {
			t.Fatalf("%s is no trace context", output.Traceparent)
		}
		found := false
		for _, one := range collector.arrived.trace(t, parts[1], 9) {
			found = found || one.SpanID().String() == parts[2] && one.Name() == "worker"
		}
		if !found {
			t.Errorf("%s is no worker's span", output.Traceparent)
		}
	}
	status, _ = platform.flare(t, "context", `{"size":1,"params":{"fail":1}}`,
		map[string]string{"traceparent": "00-" + clientsTrace + "-" + clientsSpan + "-01"})
	equal(t, "the status", status, 502)
	failed := 0
	for _, one := range collector.arrived.trace(t, clientsTrace, 8) {
		if one.Status().Code() == ptrace.StatusCodeError && one.Name() != "run" && one.Name() != "pack" {
			failed++
		}
		if strings.Contains(fmt.Sprint(one.Status().Message(), one.Attributes().AsRaw()), "hunter2") {
			t.Errorf("%s tells what a user's program said", one.Name())
		}
	}
	// The request is answered with 502; the flare and its worker failed.
	equal(t, "the number of spans that failed", failed, 3)
	line := platform.awaitLine(t, func(line string) bool { return strings.HasPrefix(line, "{") })
	var logged struct{ Level, Message, Time string }
	if err := json.Unmarshal([]byte(line), &logged); err != nil || logged.Level == "" || logged.Time == "" {
		t.Errorf("%v: %s", err, line)
	}
}

func TestTracesThatNobodyTakesAreInNobodysWay(t *testing.T) {
	platform := startPlatform(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+freeAddress(t))
	platform.deploy(t, "pi", root+"/dist/examples/montecarlo")
	for range 20 {
		status, body := platform.flare(t, "pi", `{"size":4,"params":{"samples":10}}`, nil)
		if status != 200 {
			t.Fatalf("%d: %s", status, body)
		}
	}
	platform.awaitLine(t, func(line string) bool { return strings.Contains(line, "traces do not arrive at") })
}
