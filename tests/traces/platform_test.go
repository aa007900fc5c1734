package traces

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const root = "../.."

// client keeps a connection for each of the callers.
var client = &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// platform is a whole platform, built by `make build`.
type platform struct {
	url, user, key string
	data           string
	process        int
}

// startPlatform starts a platform of a single process, which runs until the test ends.
func startPlatform(t testing.TB, environment ...string) *platform {
	t.Helper()
	data := t.TempDir()
	arguments := append([]string{"standalone", "--port", "0", "--slots", "8", "--driver", "process", "--data", data}, unlimited...)
	process, url := startNode(t, environment, "burst is ready on ", arguments...)
	return platformOf(t, data, process, url)
}

// startCluster starts a platform of a controller and an invoker in separate processes, which run until the test
// ends.
func startCluster(t testing.TB, environment ...string) *platform {
	t.Helper()
	data, node := t.TempDir(), freeAddress(t)
	arguments := append([]string{"controller", "--host", "127.0.0.1", "--port", "0", "--node", node, "--seed", node, "--data", data}, unlimited...)
	process, url := startNode(t, environment, "burst controller is ready on ", arguments...)
	startNode(t, environment, "burst invoker first is ready", "invoker", "--id", "first", "--slots", "8", "--driver", "process",
		"--node", "127.0.0.1", "--seed", node, "--cluster-key", filepath.Join(data, "cluster.pem"), "--data", t.TempDir())
	return platformOf(t, data, process, url)
}

var unlimited = []string{
	"--set", "burst.limits.flares-per-minute=1000000", "--set", "burst.limits.requests-per-minute=1000000",
}

// startNode starts a process of the platform, which runs until the test ends. It returns the process id, and the
// rest of the line that reports that it is ready.
func startNode(t testing.TB, environment []string, ready string, arguments ...string) (int, string) {
	t.Helper()
	command := exec.Command(filepath.Join(root, "dist/bin/burst"), arguments...)
	command.Env = append(os.Environ(), environment...)
	command.Stderr = os.Stderr
	said, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Signal(syscall.SIGTERM)
		if err := command.Wait(); err != nil {
			t.Errorf("%s did not end well: %v", arguments[0], err)
		}
	})
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if _, rest, found := strings.Cut(lines.Text(), ready); found {
			go io.Copy(io.Discard, said)
			return command.Process.Pid, rest
		}
	}
	t.Fatalf("%s did not start: %v", arguments[0], lines.Err())
	return 0, ""
}

func platformOf(t testing.TB, data string, process int, url string) *platform {
	t.Helper()
	started := &platform{data: data, process: process, url: url}
	properties, err := os.ReadFile(filepath.Join(data, "properties"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(properties), "\n") {
		if pair, found := strings.CutPrefix(strings.TrimSpace(line), "AUTH="); found {
			started.user, started.key, _ = strings.Cut(pair, ":")
		}
	}
	return started
}

// deploy deploys a file as a definition.
func (p *platform) deploy(t testing.TB, name, path string, more ...string) {
	t.Helper()
	arguments := append([]string{"deploy", name, path, "--apihost", p.url, "--auth", p.user + ":" + p.key}, more...)
	said, err := exec.Command(filepath.Join(root, "dist/bin/burst"), arguments...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
}

// flare runs a flare to completion, and returns the status and the body of the answer.
func (p *platform) flare(t testing.TB, name, body string, headers map[string]string) (int, json.RawMessage) {
	t.Helper()
	url := p.url + "/api/v1/namespaces/_/bursts/" + name + "?blocking=true&result=true"
	request, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(p.user, p.key)
	request.Header.Set("Content-Type", "application/json")
	for header, value := range headers {
		request.Header.Set(header, value)
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, text
}

// metrics reads all metrics, and returns their size in bytes.
func (p *platform) metrics() (int64, error) {
	answer, err := client.Get(p.url + "/metrics")
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s", answer.Status)
	}
	return io.Copy(io.Discard, answer.Body)
}

// file writes a file for this test.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// awaitLine waits for a line in the platform's log that satisfies wanted, and returns the first one.
func (p *platform) awaitLine(t *testing.T, wanted func(string) bool) string {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		text, err := os.ReadFile(filepath.Join(p.data, "logs", "burst.log"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			if wanted(line) {
				return line
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no such line in\n%s", text)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
