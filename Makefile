# The only entry point: CI, the README and people use these targets.

SEED        ?= 1
SOAK_TIME   ?= 600
APP         ?= terasort
SIZE        ?= 256M
WORKERS     ?= 8
GRANULARITY ?= 4
DRIVER      ?= auto
BACKEND     ?= direct
FUZZ_TIME   ?= 600
CLIENTS     ?= 200
FLARES      ?= 10000
WARM_UP     ?= 30000
INVOCATIONS ?= 10000
HANDOVERS   ?= 200
# The previous release: a tag or a commit.
FROM        ?= 75586a0fb9
UPGRADES    ?= 3
RUNS        ?= 3
INVOKERS    ?= 1000
QUEUED      ?= 100000
# Pinned: the newest Miri may report errors in libraries that they have not fixed yet.
NIGHTLY     := nightly-2026-05-20
# The modules of burst-bcm with unsafe code.
UNSAFE      := local:: payload:: collective::elements remote::assembly remote::inbox
FUZZ_EXAMPLES ?= 100

CARGO  := cargo
MVN    := mvn -B -q -ntp
# Runs to the same phase as `make build`: a run that stops at `test` compiles modules against each other's classes
# instead of their jars, and so compiles all of them again.
MVN_TEST := mvn -B -ntp package -Dshade.skip
RELEASE := target/release
# The output of the suites of `make test`.
TOLD    := target/tests
# Lints while compiling the tests, so that they are compiled only once: like `cargo clippy`, but with code generation. The
# libraries are the release build's; programs of the workspace, of which both builds have one, go to directories of their own.
LINTED := RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/tests/compiler.sh CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__ $(CARGO)
SHARED := --locked --release --target-dir target/linted --config 'build.build-dir="target"' --config profile.release.incremental=true
PROGRAMS := hello terasort wordcount montecarlo pagerank tables gridsearch kmeans counted failing escaping hostile neighbour collectives crowd noop probe burden mapreduce

# The sources of the SDK and the crates it depends on.
SDK := $(foreach crate,bcm rust-runtime/protocol rust-runtime/sdk rust-runtime/frame,$(crate)/Cargo.toml $(crate)/src)

.DEFAULT_GOAL := help
.PHONY: s3-server help build examples demo check test test-harness test-rust test-jvm test-system test-platform test-clusters test-survival test-kubernetes test-driver test-kernel test-package test-chart test-upgrade prepare image images dist bench load experiments kills handovers soak simulate fuzz verify fuzz-api fmt lint format deny book reference faults growth test-traces clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Everything else is built together with these: alone, it would have libraries compiled again, with fewer features.
PLATFORM := burst-cli burst-runtime

build: ## the platform, laid out in dist/
	$(CARGO) build --release --locked $(addprefix -p ,$(PLATFORM) $(ALSO))
	$(MVN) -T2 -pl standalone -am package -Dmaven.test.skip=true
	@mkdir -p dist/bin dist/lib
	install $(RELEASE)/burst $(RELEASE)/burst-runtime dist/bin/
	ln -sf burst dist/bin/wsk
	install -C -m 644 standalone/target/burst-standalone.jar dist/lib/
	standalone/save-classes.sh dist
	dist/bin/burst man dist/share/man/man1
	@# Crates made by `burst new` depend on these sources until the SDK is published.
	@rm -rf dist/share/burst && mkdir -p dist/share/burst
	tar cf - Cargo.toml $(SDK) | tar xf - -C dist/share/burst

examples: ## the examples and the programs of tests and benchmarks, in dist/examples/
	$(CARGO) build --release --locked $(addprefix -p ,$(PLATFORM) $(PROGRAMS))
	@mkdir -p dist/examples
	install $(addprefix $(RELEASE)/,$(PROGRAMS) tera graph tabgen descriptions points) dist/examples/

demo: ALSO = demo $(APP)
demo: build ## runs an example from start to verified result; APP, SIZE, WORKERS, GRANULARITY, DRIVER, BACKEND, REDIS_URL, TEXT
	@if [ "$(DRIVER)" = docker ]; then $(MAKE) --no-print-directory image; fi
	@mkdir -p dist/examples
	install $(RELEASE)/$(APP) $(if $(filter terasort,$(APP)),$(RELEASE)/tera) dist/examples/
	$(RELEASE)/demo --app $(APP) --size $(SIZE) --workers $(WORKERS) --granularity $(GRANULARITY) \
		--driver $(DRIVER) --backend $(BACKEND) $(if $(REDIS_URL),--redis $(REDIS_URL)) $(if $(TEXT),--path $(TEXT))

image: build ## the runtime's container image, burst-runtime:latest
	deploy/runtime/build.sh dist/bin/burst-runtime

images: ALSO = hello
images: build ## the images burst, burst-runtime and burst-runtime-rust, and a list of their contents, in target/images; REGISTRY
	REGISTRY=$(REGISTRY) deploy/images/build.sh dist $(RELEASE)/hello target/images

dist: build ## the platform as a tarball and a Debian package, in target/packages
	deploy/package/build.sh dist target/packages

prepare: ## installs what the tests need besides the toolchains: docker, databases, brokers, dist/, the image
	ALSO="$(PROGRAMS)" tests/prepare.sh

test: format ## lints, unit, conformance, chart and whole-system tests: everything but the long tests of test-survival
	$(LINTED) build $(SHARED) --workspace --all-targets
	$(MAKE) --no-print-directory prepare
	$(LINTED) test $(SHARED) --workspace --no-run --quiet
	@rm -rf $(TOLD) && mkdir -p $(TOLD)
	$(MAKE) --no-print-directory -j2 --keep-going $(addprefix beside-,platform clusters rust jvm chart harness) \
		|| { tests/failures.sh $(TOLD); exit 1; }

# Two at a time, as each mostly waits, the longest first. Cargo must not use this make's job server.
beside-%: SHELL := bash -o pipefail
beside-%:
	@mkdir -p $(TOLD)
	MAKEFLAGS= $(MAKE) --no-print-directory test-$* 2>&1 | tee $(TOLD)/$*.log || { touch $(TOLD)/$*.failed; exit 1; }

# Compiled with the whole workspace: for a single package cargo would compile libraries again, with only the features it
# needs. Run by itself: the tests of the other packages belong to test-rust.
test-harness: SHELL := bash -o pipefail
test-harness:
	harness=$$($(LINTED) test $(SHARED) --workspace --lib --no-run --message-format=json-render-diagnostics | \
		sed -n 's/.*"executable":"\([^"]*\/burst_tests-[^"]*\)".*/\1/p') && cd tests && "$$harness"
	$(LINTED) test $(SHARED) --workspace --test faults page::

# Names of tests and suites that start a server, among those that `check` runs.
NEED_SERVERS := on_redis on_rabbitmq
NEED_SERVER_SUITES := Postgres* Migrations* S3* Docker* AdvisoryLock* LogMigration* DefinitionMigration* Membership* SlowUpload* \
	SecretsKeyFile* UserImages*
SPACE := $(subst ,, )
COMMA := ,

check: format ## lints, and the unit tests and tests of the command line that need no server
	$(LINTED) build $(SHARED) --workspace --all-targets
	$(LINTED) test $(SHARED) --workspace --exclude burst-tests --exclude burst-test-servers --lib --bins \
		--test workspace --test cli --test client -- $(addprefix --skip ,$(NEED_SERVERS))
	$(MVN_TEST) -T2 -Dtest='$(subst $(SPACE),$(COMMA),$(addprefix !,$(NEED_SERVER_SUITES)))'

# They spend more time waiting for timeouts than for a processor.
test-rust: ## unit, conformance and documentation tests of the Rust half
	RUST_TEST_THREADS=4 $(LINTED) test $(SHARED) --no-fail-fast --workspace --exclude burst-tests

test-jvm: ## tests of the JVM half
	$(MVN_TEST) -T2 --fail-at-end

test-system: test-harness test-platform test-clusters ## whole-system tests against dist/

test-survival: prepare ## clusters repeatedly killed, stopped, partitioned and replaced under load; outages of databases and disks; ONLY

# A platform is one JVM, a cluster half a dozen: two at a time, however many processors there are. They live for seconds:
# compiling sooner or better, which pays off for long-lived platforms, would take a third of their processor time.
test-platform test-clusters test-survival: export JDK_JAVA_OPTIONS ?= -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=96m
# Some of these JVMs live long, while others are replaced all the time.
kills handovers test-upgrade: export JDK_JAVA_OPTIONS ?= -XX:TieredStopAtLevel=1 -XX:CompileThresholdScaling=0.1 -XX:ReservedCodeCacheSize=96m
test-platform test-clusters test-survival: test-%:
	$(LINTED) test $(SHARED) --workspace --test $* -- --test-threads=2 $(ONLY)

test-kubernetes: ALSO = hello burden collectives hostile
test-kubernetes: build ## the chart and the driver's contract on a Kubernetes cluster that it starts, as root: see deploy/k8s; ONLY=drain,kills KEEP=1
	$(CARGO) build --release --locked $(addprefix -p ,$(PLATFORM) $(ALSO) burst-test-servers)
	REGISTRY=burst.test deploy/images/build.sh dist $(RELEASE)/hello target/images
	KEEP=$(KEEP) SEED=$(SEED) S3_SERVER=$(CURDIR)/$(RELEASE)/burst-s3-server deploy/k8s/tests/kubernetes.sh dist $(RELEASE) \
		benchmarks/results/kubernetes $(subst $(COMMA), ,$(ONLY))

test-driver: ## the Kubernetes driver's contract on the cluster of KUBECONFIG, with BURST_TEST_IMAGE: see deploy/k8s
	$(CARGO) build --release --locked -p burst-runtime
	BURST_TEST_KUBECONFIG=$${KUBECONFIG:-$$HOME/.kube/config} mvn -B -ntp -pl invoker -am test \
		-Dtest=KubernetesDriverSuite -Dsurefire.failIfNoSpecifiedTests=false

test-chart: ## the Helm chart against dist/: lint, golden renders, Kubernetes' schemas, its settings; GOLDEN=--update
	deploy/k8s/tests/chart.sh dist dist/examples/hello $(GOLDEN)

test-traces: ALSO = montecarlo noop
test-traces: build ## traces of a platform, as OpenTelemetry's own collector receives them
	@mkdir -p dist/examples
	install $(RELEASE)/montecarlo $(RELEASE)/noop dist/examples/
	cd tests/traces && nice go vet ./... && nice go test -count=1 ./...

# Under emulation, writing a gigabyte takes too long.
test-kernel: ## sandboxes on Debian's kernel in a virtual machine: control groups of version 2, Landlock
	CARGO_TARGET_$(shell rustc -vV | sed -n 's/^host: //p' | tr a-z- A-Z_)_RUNNER=$(CURDIR)/tests/kernel/run.sh \
		$(LINTED) test $(SHARED) -p burst-sandbox -- --test-threads=2 $(if $(ACCELERATOR),,--skip exhausting_all_resources)

test-package: dist ## the Debian package installed in a bare root file system and started by systemd there; as root
	deploy/package/test.sh target/packages

bench: build examples ## the measurements quoted in the README, and with criterion the changes since the last run
	$(CARGO) bench --locked -p bcm-benchmarks
	$(CARGO) run --release --locked -p burst-benchmarks
	$(CARGO) run --release --locked -p bcm-benchmarks

# The S3 server in which a cluster of several controllers keeps packages.
kills handovers test-upgrade test-survival faults soak: s3-server
s3-server:
	$(LINTED) build $(SHARED) --workspace --bin burst-s3-server

load: ALSO = burst-test-servers
load: build examples ## 200 clients with 10,000 small flares on a cluster of processes, after 30,000 others; CLIENTS, FLARES, WARM_UP, REFERENCE=DIST of a release to measure alternately
	@# Six JVMs share the machine.
	JDK_JAVA_OPTIONS=-Xmx512m $(CARGO) run --release --locked -p burst-benchmarks --bin load -- \
		--clients $(CLIENTS) --flares $(FLARES) --warm-up $(WARM_UP) \
		$(if $(REFERENCE),--reference $(REFERENCE))

kills: build examples ## 10,000 invocations while packs, invokers and controllers are killed at random; INVOCATIONS, SEED
	BURST_KILLS_INVOCATIONS=$(INVOCATIONS) BURST_KILLS_SEED=$(SEED) $(LINTED) test $(SHARED) --workspace --test survival \
		kills::invocations_survive_random_kills -- --exact --nocapture

handovers: build examples ## flares while the scheduler's controller is killed or stopped and replaced, 200 times; HANDOVERS, SEED
	BURST_HANDOVERS=$(HANDOVERS) BURST_HANDOVERS_SEED=$(SEED) $(LINTED) test $(SHARED) --workspace --test survival \
		handovers::flares_survive_repeated_handovers -- --exact --nocapture

test-upgrade: build examples ## nodes of the commit FROM and of this tree in one cluster, replaced under load, back and forth; UPGRADES, SEED
	tests/former.sh $(FROM) target/former
	BURST_UPGRADE_FROM=$(CURDIR)/target/former/dist BURST_UPGRADES=$(UPGRADES) BURST_UPGRADES_SEED=$(SEED) \
		$(LINTED) test $(SHARED) --workspace --test survival upgrading:: -- --nocapture

faults: build examples ## what each fault does to running, queued and new flares, RUNS times: benchmarks/results/faults and its page
	BURST_FAULT_RUNS=$(RUNS) $(LINTED) test $(SHARED) --workspace --test faults what_each_fault_does_to_flares -- --nocapture

soak: build examples ## random flares and random faults, chosen by SEED, on a cluster for SOAK_TIME seconds
	BURST_SOAK_SECONDS=$(SOAK_TIME) BURST_SOAK_SEED=$(SEED) $(LINTED) test $(SHARED) --workspace --test survival soak:: -- --nocapture

simulate: ## the scheduler on 1,000 simulated invokers; tables and plots in benchmarks/results/simulator
	$(MVN) -pl simulator -am install -DskipTests
	$(MVN) -pl simulator exec:java

growth: build ## the cost of 1,000 invokers and 100,000 queued flares for a controller, in 6 GiB; INVOKERS, QUEUED
	$(MVN) -pl simulator -am install -DskipTests
	MAVEN_OPTS=-Xmx6g $(MVN) -pl simulator exec:java -Dexec.args="benchmarks/results growth $(INVOKERS) $(QUEUED)"
	$(MVN) -pl simulator exec:java -Dexec.args="benchmarks/results sessions dist/bin/burst"

experiments: image examples ## the paper's experiments, compared with Spark, Dask, Ray and Polars; ONLY=pagerank,terasort SIZE=tiny|small|large PEERS=venv
	@# 48 fully connected containers have more neighbours than the kernel's default allows.
	-sysctl -q -w net.ipv4.neigh.default.gc_thresh3=16384
	$(CARGO) run --release --locked -p burst-experiments -- $(if $(ONLY),--only $(ONLY)) \
		$(if $(filter tiny large,$(SIZE)),--size $(SIZE)) $(if $(PEERS),--peers $(PEERS))

fmt: ## format everything
	$(CARGO) fmt --all
	$(MVN) spotless:apply

format:
	$(CARGO) fmt --all --check
	$(MVN) spotless:check

lint: format ## formatting and warnings, as errors; allowed dependencies
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) test --locked --quiet -p burst-arrows
	$(MVN) test -pl standalone -am -Dtest=PackagesSuite -Dsurefire.failIfNoSpecifiedTests=false

deny: ## known vulnerabilities, licences and sources of the Rust dependencies, with cargo-deny; asks the network for advisories
	@cargo deny --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-deny
	$(CARGO) deny --locked check

book: ## docs/ as a book in book/, with mdBook
	@mdbook --version >/dev/null 2>&1 || $(CARGO) install --locked mdbook
	mdbook build docs

reference: ## the pages of rustdoc and scaladoc, in target/reference/rust and target/reference/scala
	@rm -rf target/reference target/rustdoc/doc && mkdir -p target/reference/scala
	$(CARGO) doc --locked --workspace --no-deps --lib --target-dir target/rustdoc
	cp -r target/rustdoc/doc target/reference/rust
	$(MVN) package -Dmaven.test.skip -Dshade.skip -Pscaladoc -Dscaladoc.directory=$(CURDIR)/target/reference/scala -pl standalone -am
	@# scaladoc exits with 0 even if it fails.
	test -f target/reference/scala/index.html

fuzz-api: build examples ## the running API against its own description, with schemathesis; FUZZ_EXAMPLES calls of each operation
	tests/fuzz/api.sh $(FUZZ_EXAMPLES)

fuzz: ## fuzzes the parsers of external input with cargo-fuzz and a nightly toolchain; FUZZ_TIME seconds each
	@cargo fuzz --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-fuzz
	cd bcm/fuzz && for target in header frames replies; do \
		$(CARGO) +$(NIGHTLY) fuzz run --fuzz-dir . $$target -- -max_total_time=$(FUZZ_TIME) -max_len=4096 || exit 1; done

verify: ## the queues between threads: every order of their steps with loom; undefined behaviour with Miri and a nightly toolchain
	RUSTFLAGS="--cfg burst_loom" $(CARGO) test --locked --release --target-dir target/loom -p burst-bcm --no-default-features --lib loom
	MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=4 $(CARGO) +$(NIGHTLY) miri test --locked --target-dir target/miri -p burst-bcm --no-default-features --lib -- $(UNSAFE)

clean: ## remove everything that was built
	rm -rf target dist book
	$(MVN) clean
