package traces

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkFlares measures the cost of observability: 32 clients run flares of 8 workers that do nothing in a warm
// pack, alternately on a platform that sends traces, logs JSON and is scraped for metrics, and on one that does none of
// this, for the rounds given by -benchtime. The processor time of the platform's JVM per flare depends less on other
// load of the machine than the number of flares per second.
func BenchmarkFlares(b *testing.B) {
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		io.Copy(io.Discard, request.Body)
	}))
	defer sink.Close()
	platforms := []*platform{
		startPlatform(b, "OTEL_EXPORTER_OTLP_ENDPOINT="),
		startPlatform(b, "OTEL_EXPORTER_OTLP_ENDPOINT="+sink.URL, "BURST_LOG_FORMAT=json"),
	}
	scraped := scrape(b, platforms[1])
	defer scraped()
	for _, platform := range platforms {
		platform.deploy(b, "noop", root+"/dist/examples/noop")
		platform.load(b, 10*time.Second)
	}
	rates, costs := make([][]float64, 2), make([][]float64, 2)
	b.ResetTimer()
	for round := range b.N {
		for turn := range 2 {
			which := (round + turn) % 2
			platform := platforms[which]
			before := computed(b, platform.process)
			rate, flares := platform.load(b, 4*time.Second)
			rates[which] = append(rates[which], rate)
			costs[which] = append(costs[which], (computed(b, platform.process)-before).Seconds()*1000/float64(flares))
		}
	}
	for which, name := range []string{"without", "with"} {
		b.ReportMetric(median(rates[which]), "flares/s-"+name)
		b.ReportMetric(median(costs[which]), "JVM-ms/flare-"+name)
	}
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("flares/s %.0f and %.0f, load %s", rates[0], rates[1], load)
}

// scrape reads a platform's metrics, three times as often as Prometheus does by default, until end is called.
func scrape(b *testing.B, p *platform) (end func()) {
	ended, clock := make(chan struct{}), time.NewTicker(5*time.Second)
	var scraper sync.WaitGroup
	scraper.Go(func() {
		for {
			select {
			case <-ended:
				return
			case <-clock.C:
				if length, err := p.metrics(); err != nil || length == 0 {
					b.Errorf("metrics: %d bytes, %v", length, err)
				}
			}
		}
	})
	return func() {
		clock.Stop()
		close(ended)
		scraper.Wait()
	}
}

// load lets 32 clients run flares for this time, and returns the flares per second and in total.
func (p *platform) load(b *testing.B, long time.Duration) (float64, int64) {
	var flares atomic.Int64
	began := time.Now()
	var clients sync.WaitGroup
	for range 32 {
		clients.Go(func() {
			for time.Since(began) < long {
				if status, body := p.flare(b, "noop", `{"size":8}`, nil); status != 200 {
					b.Errorf("%d: %s", status, body)
					return
				}
				flares.Add(1)
			}
		})
	}
	clients.Wait()
	return float64(flares.Load()) / time.Since(began).Seconds(), flares.Load()
}

// computed returns the processor time that a process has used.
func computed(b *testing.B, process int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		b.Fatal(err)
	}
	_, fields, _ := strings.Cut(string(text), ") ")
	var ticks int64
	for _, field := range strings.Fields(fields)[11:13] {
		more, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += more
	}
	return time.Duration(ticks) * time.Second / 100
}

func median(figures []float64) float64 {
	slices.Sort(figures)
	return figures[len(figures)/2]
}
