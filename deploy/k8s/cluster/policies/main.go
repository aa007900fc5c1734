// Enforces NetworkPolicies for the pods of one node with iptables: it watches all pods and policies, and on a change
// rewrites all rules in one step.
//
//	policies KUBECONFIG POD-RANGE
//
// It supports policies of this version of the API for IPv4, TCP and UDP, including named ports and port ranges. A pod
// that no policy selects is unrestricted, and so is one whose address is not yet known.
package main

import (
	"fmt"
	"log"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

type state struct {
	pods       []*core.Pod
	namespaces map[string]labels.Set
	policies   []*networking.NetworkPolicy
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	local := netip.MustParsePrefix(os.Args[2])
	factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0)
	changed := make(chan struct{}, 1)
	change := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	told := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { change() },
		UpdateFunc: func(any, any) { change() },
		DeleteFunc: func(any) { change() },
	}
	for _, informer := range []cache.SharedIndexInformer{
		factory.Core().V1().Pods().Informer(),
		factory.Core().V1().Namespaces().Informer(),
		factory.Networking().V1().NetworkPolicies().Informer(),
	} {
		if _, err := informer.AddEventHandler(told); err != nil {
			log.Fatal(err)
		}
	}
	factory.Start(nil)
	factory.WaitForCacheSync(nil)
	written := ""
	for {
		now, err := read(factory)
		if err != nil {
			log.Fatal(err)
		}
		if rules := now.rules(local); rules != written {
			if err := write(rules); err != nil {
				log.Print(err)
				time.Sleep(time.Second)
				continue
			}
			written = rules
		}
		<-changed
	}
}

func read(factory informers.SharedInformerFactory) (state, error) {
	now := state{namespaces: map[string]labels.Set{}}
	pods, err := factory.Core().V1().Pods().Lister().List(labels.Everything())
	if err != nil {
		return now, err
	}
	namespaces, err := factory.Core().V1().Namespaces().Lister().List(labels.Everything())
	if err != nil {
		return now, err
	}
	now.policies, err = factory.Networking().V1().NetworkPolicies().Lister().List(labels.Everything())
	if err != nil {
		return now, err
	}
	for _, pod := range pods {
		if pod.Status.PodIP != "" && !pod.Spec.HostNetwork && pod.Status.Phase == core.PodRunning {
			now.pods = append(now.pods, pod)
		}
	}
	for _, namespace := range namespaces {
		now.namespaces[namespace.Name] = namespace.Labels
	}
	slices.SortFunc(now.pods, func(a, b *core.Pod) int { return strings.Compare(a.Status.PodIP, b.Status.PodIP) })
	slices.SortFunc(now.policies, func(a, b *networking.NetworkPolicy) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return now, nil
}

// The chain POLICIES sees forwarded packets, and those that pods send to their own node. Packets from the node itself
// bypass it: a kubelet's probes are allowed.
func write(rules string) error {
	restore := exec.Command("iptables-restore", "--wait", "5", "--noflush")
	restore.Stdin = strings.NewReader(rules)
	if said, err := restore.CombinedOutput(); err != nil {
		return fmt.Errorf("iptables-restore: %w: %s", err, said)
	}
	for _, chain := range []string{"FORWARD", "INPUT"} {
		iptables := func(verb string) ([]byte, error) {
			return exec.Command("iptables", "--wait", "5", verb, chain, "--jump", "POLICIES").CombinedOutput()
		}
		if _, err := iptables("--check"); err == nil {
			continue
		}
		if said, err := iptables("--insert"); err != nil {
			return fmt.Errorf("iptables: %w: %s", err, said)
		}
	}
	return nil
}

// Each pod with policies gets a mark for each direction, which a policy that allows the packet clears.
func (now state) rules(local netip.Prefix) string {
	var out strings.Builder
	out.WriteString("*filter\n:POLICIES - [0:0]\n-F POLICIES\n")
	add := func(rule string, values ...any) { fmt.Fprintf(&out, "-A POLICIES "+rule+"\n", values...) }
	add("-m conntrack --ctstate RELATED,ESTABLISHED -j RETURN")
	add("-j MARK --set-xmark 0x0/0x300000")
	for _, pod := range now.pods {
		address, err := netip.ParseAddr(pod.Status.PodIP)
		if err != nil || !local.Contains(address) {
			continue
		}
		now.direction(add, pod, networking.PolicyTypeEgress, "-s", "-d", "0x100000")
		now.direction(add, pod, networking.PolicyTypeIngress, "-d", "-s", "0x200000")
	}
	add("-m mark ! --mark 0x0/0x300000 -j REJECT")
	out.WriteString("COMMIT\n")
	return out.String()
}

func (now state) direction(
	add func(string, ...any), pod *core.Pod, direction networking.PolicyType, own, others, mark string,
) {
	selected := false
	for _, policy := range now.policies {
		if policy.Namespace != pod.Namespace || !slices.Contains(policy.Spec.PolicyTypes, direction) ||
			!matches(&policy.Spec.PodSelector, pod.Labels) {
			continue
		}
		if !selected {
			add("%s %s -j MARK --set-xmark %s/%s", own, pod.Status.PodIP, mark, mark)
			selected = true
		}
		if direction == networking.PolicyTypeEgress {
			for _, rule := range policy.Spec.Egress {
				now.allow(add, policy.Namespace, pod, rule.To, rule.Ports, own, others, mark)
			}
		} else {
			for _, rule := range policy.Spec.Ingress {
				now.allow(add, policy.Namespace, pod, rule.From, rule.Ports, own, others, mark)
			}
		}
	}
}

func (now state) allow(
	add func(string, ...any), namespace string, pod *core.Pod, peers []networking.NetworkPolicyPeer,
	ports []networking.NetworkPolicyPort, own, others, mark string,
) {
	pair := func(address string, receiver *core.Pod) {
		match := own + " " + pod.Status.PodIP
		if address != "" {
			match += " " + others + " " + address
		}
		for _, port := range matchesOf(ports, receiver) {
			add("%s%s -j MARK --set-xmark 0x0/%s", match, port, mark)
		}
	}
	receiver := func(peer *core.Pod) *core.Pod {
		if own == "-d" {
			return pod
		}
		return peer
	}
	if len(peers) == 0 {
		pair("", receiver(nil))
	}
	for _, peer := range peers {
		if peer.IPBlock != nil {
			for _, range_ := range without(peer.IPBlock) {
				pair(range_, receiver(nil))
			}
			continue
		}
		for _, other := range now.pods {
			there := other.Namespace == namespace
			if peer.NamespaceSelector != nil {
				there = matches(peer.NamespaceSelector, now.namespaces[other.Namespace])
			}
			if there && (peer.PodSelector == nil || matches(peer.PodSelector, other.Labels)) {
				pair(other.Status.PodIP, receiver(other))
			}
		}
	}
}

// Returns the port matches for iptables: named ports are resolved to the receiver's own.
func matchesOf(ports []networking.NetworkPolicyPort, receiver *core.Pod) []string {
	if len(ports) == 0 {
		return []string{""}
	}
	found := []string{}
	for _, port := range ports {
		protocol := "tcp"
		if port.Protocol != nil {
			protocol = strings.ToLower(string(*port.Protocol))
		}
		match := " -p " + protocol
		switch {
		case port.Port == nil:
		case port.Port.StrVal != "":
			named := numberOf(port.Port.StrVal, protocol, receiver)
			if named == 0 {
				continue
			}
			match += fmt.Sprintf(" --dport %d", named)
		case port.EndPort != nil:
			match += fmt.Sprintf(" --dport %d:%d", port.Port.IntVal, *port.EndPort)
		default:
			match += fmt.Sprintf(" --dport %d", port.Port.IntVal)
		}
		found = append(found, match)
	}
	return found
}

func numberOf(name, protocol string, pod *core.Pod) int32 {
	if pod == nil {
		return 0
	}
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			if port.Name == name && strings.EqualFold(string(port.Protocol), protocol) {
				return port.ContainerPort
			}
		}
	}
	return 0
}

// Returns the block as ranges, without the excepted ones.
func without(block *networking.IPBlock) []string {
	ranges := []netip.Prefix{netip.MustParsePrefix(block.CIDR)}
	for _, except := range block.Except {
		hole := netip.MustParsePrefix(except).Masked()
		var left []netip.Prefix
		for len(ranges) > 0 {
			first := ranges[0]
			ranges = ranges[1:]
			switch {
			case !first.Overlaps(hole):
				left = append(left, first)
			case first.Bits() < hole.Bits():
				ranges = append(ranges, halves(first)...)
			}
		}
		ranges = left
	}
	found := []string{}
	for _, range_ := range ranges {
		found = append(found, range_.String())
	}
	return found
}

func halves(whole netip.Prefix) []netip.Prefix {
	bits := whole.Bits() + 1
	bytes := whole.Masked().Addr().As4()
	lower := netip.PrefixFrom(netip.AddrFrom4(bytes), bits)
	bytes[(bits-1)/8] |= 1 << (7 - (bits-1)%8)
	return []netip.Prefix{lower, netip.PrefixFrom(netip.AddrFrom4(bytes), bits)}
}

func matches(selector *meta.LabelSelector, of map[string]string) bool {
	compiled, err := meta.LabelSelectorAsSelector(selector)
	return err == nil && compiled.Matches(labels.Set(of))
}
