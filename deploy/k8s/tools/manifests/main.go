// Validates manifests as the API server would: every field of every object must exist in Kubernetes, and every pod
// must satisfy the Pod Security Standard "restricted". Reads YAML from standard input; -secret NAME instead prints
// the entry NAME of a Secret among them.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	security "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

func main() {
	secret := flag.String("secret", "", "what to print of a Secret")
	flag.Parse()
	if err := run(os.Stdin, *secret); err != nil {
		fmt.Fprintln(os.Stderr, "manifests:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, secret string) error {
	if err := monitoring.AddToScheme(scheme.Scheme); err != nil {
		return err
	}
	codecs := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict)
	restricted, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return err
	}
	documents := yaml.NewYAMLReader(bufio.NewReader(in))
	objects, pods := 0, 0
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		object, kind, err := codecs.UniversalDeserializer().Decode(document, nil, nil)
		if runtime.IsMissingKind(err) && isEmpty(document) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%w in:\n%s", err, document)
		}
		objects++
		if found, ok := object.(*core.Secret); ok && secret != "" && found.Data[secret] != nil {
			_, err := os.Stdout.Write(found.Data[secret])
			return err
		}
		metadata, spec := podOf(object)
		if spec == nil {
			continue
		}
		pods++
		level := security.LevelVersion{Level: security.LevelRestricted, Version: security.LatestVersion()}
		verdict := policy.AggregateCheckResults(restricted.EvaluatePod(level, metadata, spec))
		if !verdict.Allowed {
			return fmt.Errorf("%s %s is not restricted: %s", kind.Kind, metadata.Name, verdict.ForbiddenDetail())
		}
	}
	if secret != "" {
		return fmt.Errorf("no Secret has %s", secret)
	}
	fmt.Printf("%d objects, %d of them with pods\n", objects, pods)
	return nil
}

// Returns the pod template of an object, if it has one.
func podOf(object runtime.Object) (*meta.ObjectMeta, *core.PodSpec) {
	switch it := object.(type) {
	case *core.Pod:
		return &it.ObjectMeta, &it.Spec
	case *apps.StatefulSet:
		return &it.Spec.Template.ObjectMeta, &it.Spec.Template.Spec
	case *apps.Deployment:
		return &it.Spec.Template.ObjectMeta, &it.Spec.Template.Spec
	}
	return nil, nil
}

// Returns whether a document contains only comments.
func isEmpty(document []byte) bool {
	var any map[string]interface{}
	return yaml.Unmarshal(document, &any) == nil && len(any) == 0
}
