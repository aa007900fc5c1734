package main

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestABlockIsCutToWhatIsNotExcepted(t *testing.T) {
	for _, one := range []struct {
		cidr   string
		except []string
		left   []string
	}{
		{"10.0.0.0/8", nil, []string{"10.0.0.0/8"}},
		{"10.0.0.0/30", []string{"10.0.0.1/32"}, []string{"10.0.0.0/32", "10.0.0.2/31"}},
		{"10.0.0.0/24", []string{"10.0.0.0/25", "10.0.0.128/26"}, []string{"10.0.0.192/26"}},
		{"10.0.0.0/24", []string{"10.0.0.0/8"}, []string{}},
	} {
		left := without(&networking.IPBlock{CIDR: one.cidr, Except: one.except})
		slices.Sort(left)
		if !slices.Equal(left, one.left) {
			t.Errorf("%s without %v: %v", one.cidr, one.except, left)
		}
	}
}

func pod(namespace, name, address string) *core.Pod {
	return &core.Pod{
		ObjectMeta: meta.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"name": name}},
		Spec: core.PodSpec{Containers: []core.Container{{
			Ports: []core.ContainerPort{{Name: "api", ContainerPort: 3233, Protocol: core.ProtocolTCP}},
		}}},
		Status: core.PodStatus{PodIP: address, Phase: core.PodRunning},
	}
}

func TestOnlyWhomAPolicyNamesReachesAPod(t *testing.T) {
	named := intstr.FromString("api")
	now := state{
		pods: []*core.Pod{
			pod("here", "server", "10.1.0.2"), pod("here", "client", "10.1.0.3"), pod("there", "client", "10.2.0.4"),
		},
		namespaces: map[string]labels.Set{"here": {}, "there": {}},
		policies: []*networking.NetworkPolicy{{
			ObjectMeta: meta.ObjectMeta{Namespace: "here", Name: "server"},
			Spec: networking.NetworkPolicySpec{
				PodSelector: meta.LabelSelector{MatchLabels: map[string]string{"name": "server"}},
				PolicyTypes: []networking.PolicyType{networking.PolicyTypeIngress},
				Ingress: []networking.NetworkPolicyIngressRule{{
					From:  []networking.NetworkPolicyPeer{{PodSelector: &meta.LabelSelector{MatchLabels: map[string]string{"name": "client"}}}},
					Ports: []networking.NetworkPolicyPort{{Port: &named}},
				}},
			},
		}},
	}
	rules := now.rules(netip.MustParsePrefix("10.1.0.0/24"))
	for _, rule := range []string{
		"-d 10.1.0.2 -j MARK --set-xmark 0x200000/0x200000\n",
		"-d 10.1.0.2 -s 10.1.0.3 -p tcp --dport 3233 -j MARK --set-xmark 0x0/0x200000\n",
	} {
		if !strings.Contains(rules, rule) {
			t.Errorf("without %s:\n%s", rule, rules)
		}
	}
	if strings.Contains(rules, "10.2.0.4") || strings.Contains(rules, "-d 10.1.0.3 ") {
		t.Errorf("of others:\n%s", rules)
	}
}
