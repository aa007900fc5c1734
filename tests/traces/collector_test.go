package traces

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

// patience is the limit for anything that another process does on a busy machine.
const patience = 2 * time.Minute

// collector is OpenTelemetry's own collector, with its OTLP receiver, in this process. It keeps what
// has arrived.
type collector struct {
	endpoint string
	arrived  *arrived
}

// startCollector starts a collector that runs until the test ends.
func startCollector(t *testing.T) *collector {
	t.Helper()
	endpoint := freeAddress(t)
	kept := &arrived{}
	kept.changed = sync.NewCond(&kept.turn)
	config := fmt.Sprintf(`yaml:
receivers: {otlp: {protocols: {http: {endpoint: "%s"}}}}
exporters: {kept: {}}
service:
  telemetry: {logs: {level: error}, metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], exporters: [kept]}}`, endpoint)
	service, err := otelcol.NewCollector(otelcol.CollectorSettings{
		BuildInfo:               component.NewDefaultBuildInfo(),
		DisableGracefulShutdown: true,
		Factories:               func() (otelcol.Factories, error) { return parts(kept) },
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs:              []string{config},
			ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory()},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- service.Run(context.Background()) }()
	t.Cleanup(func() {
		service.Shutdown()
		if err := <-ended; err != nil {
			t.Errorf("the collector: %v", err)
		}
	})
	deadline := time.Now().Add(patience)
	for {
		connection, err := net.Dial("tcp", endpoint)
		if err == nil {
			connection.Close()
			return &collector{endpoint: "http://" + endpoint, arrived: kept}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the collector does not listen: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func parts(kept *arrived) (otelcol.Factories, error) {
	receivers, err := otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
	if err != nil {
		return otelcol.Factories{}, err
	}
	own := exporter.NewFactory(
		component.MustNewType("kept"),
		func() component.Config { return &struct{}{} },
		exporter.WithTraces(
			func(context.Context, exporter.Settings, component.Config) (exporter.Traces, error) { return kept, nil },
			component.StabilityLevelDevelopment,
		),
	)
	exporters, err := otelcol.MakeFactoryMap[exporter.Factory](own)
	if err != nil {
		return otelcol.Factories{}, err
	}
	return otelcol.Factories{
		Receivers: receivers,
		Exporters: exporters,
		Telemetry: otelconftelemetry.NewFactory(),
	}, nil
}

// span is a span as it arrived.
type span struct {
	ptrace.Span
	service string
}

func (s span) text(attribute string) string {
	value, ok := s.Attributes().Get(attribute)
	if !ok {
		return ""
	}
	return value.AsString()
}

// arrived is an exporter that keeps the spans.
type arrived struct {
	turn    sync.Mutex
	changed *sync.Cond
	spans   []span
}

func (a *arrived) Capabilities() consumer.Capabilities         { return consumer.Capabilities{} }
func (a *arrived) Start(context.Context, component.Host) error { return nil }
func (a *arrived) Shutdown(context.Context) error              { return nil }
func (a *arrived) ConsumeTraces(_ context.Context, traces ptrace.Traces) error {
	own := ptrace.NewTraces()
	traces.CopyTo(own)
	a.turn.Lock()
	defer a.turn.Unlock()
	for _, resource := range own.ResourceSpans().All() {
		name, _ := resource.Resource().Attributes().Get("service.name")
		for _, scope := range resource.ScopeSpans().All() {
			for _, found := range scope.Spans().All() {
				a.spans = append(a.spans, span{found, name.Str()})
			}
		}
	}
	a.changed.Broadcast()
	return nil
}

// trace waits until a trace has this many spans, and returns them.
func (a *arrived) trace(t *testing.T, id string, count int) []span {
	t.Helper()
	timer := time.AfterFunc(patience, func() {
		a.turn.Lock()
		defer a.turn.Unlock()
		a.changed.Broadcast()
	})
	defer timer.Stop()
	deadline := time.Now().Add(patience)
	a.turn.Lock()
	defer a.turn.Unlock()
	for {
		var found []span
		for _, one := range a.spans {
			if one.TraceID().String() == id {
				found = append(found, one)
			}
		}
		if len(found) >= count {
			return found
		}
		if time.Now().After(deadline) {
			t.Fatalf("of the trace %s there are %d spans in place of %d", id, len(found), count)
		}
		a.changed.Wait()
	}
}
