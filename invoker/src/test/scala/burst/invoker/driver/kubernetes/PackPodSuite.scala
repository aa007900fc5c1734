package burst.invoker.driver
package kubernetes

import burst.protocol.Secret
import io.fabric8.kubernetes.api.model.OwnerReferenceBuilder
import io.fabric8.kubernetes.client.utils.Serialization
import java.nio.charset.StandardCharsets.UTF_8
import scala.concurrent.duration.DurationInt
import scala.util.Using

class PackPodSuite extends munit.FunSuite:
  private val settings = KubernetesSettings(
    namespace = None,
    pod = None,
    image = "registry.example/burst-runtime:1",
    runtime = None,
    cpuFactor = 0.5,
    memoryOverhead = 64,
    scratchSize = 2048,
    users = UserRange(2_000_065_536L, 2_000_131_071L),
    group = 65534,
    callTimeout = 1.second,
    startTimeout = 1.second,
    stopTimeout = 1.second,
    parallelism = 1
  )
  private val invoker = OwnerReferenceBuilder()
    .withApiVersion("v1")
    .withKind("Pod")
    .withName("invoker-0")
    .withUid("3b1f")
    .build()

  private def golden(name: String): String =
    Using.resource(getClass.getResourceAsStream(name))(stream => String(stream.readAllBytes, UTF_8))

  test("a pack's pod matches the golden copy"):
    val pod = PackPod.pod(
      settings,
      "burst-a-1",
      "a",
      PodLimits.of(settings, 3, 256),
      user = 2_000_070_000L,
      Some(invoker)
    )
    assertEquals(Serialization.asYaml(pod), golden("pack-pod.yaml"))

  test("a pod whose slots belong to a node is bound to that node"):
    val limits = PodLimits.of(settings, 1, 256)
    val pod = PackPod.pod(settings, "burst-a-1", "a", limits, user = 2_000_070_000L, None, Some("node-7"))
    val terms = pod.getSpec.getAffinity.getNodeAffinity.getRequiredDuringSchedulingIgnoredDuringExecution
    val field = terms.getNodeSelectorTerms.get(0).getMatchFields.get(0)
    assertEquals(
      (field.getKey, field.getOperator, field.getValues.get(0)),
      ("metadata.name", "In", "node-7")
    )

  test("a pod's token is in an immutable secret of the same name"):
    val token = Secret.random()
    val secret = PackPod.secret("burst-a-1", "a", token, None)
    assertEquals(secret.getMetadata.getName, "burst-a-1")
    assert(secret.getImmutable)
    assertEquals(secret.getStringData.get("token"), token.hex)

  test("names are valid for Kubernetes, and unique"):
    val names = Vector.fill(100)(PackPod.name("0c11ece6-333b-4cc3-8b9a-07b5e221e436"))
    assertEquals(names.toSet.size, 100)
    assert(names.forall(_.matches("burst-0c11ece6-[0-9a-f]{12}")), names.head)

  test("limits grow with the pack, and are never zero"):
    assertEquals(PodLimits.of(settings, 4, 100), PodLimits(2000, 464L << 20))
    assertEquals(PodLimits.of(settings.copy(cpuFactor = 0), 1, 1).cpuMillis, 10L)
    assertEquals(PodLimits.of(settings, 4096, 8192).memory, (4096L * 8192 + 64) << 20)
    assertEquals(PodLimits.read(PodLimits(2000, 464).resources), Some(PodLimits(2000, 464)))

  test("limits allow other limits that are nowhere larger"):
    assert(PodLimits(2, 2).allows(PodLimits(2, 2)) && PodLimits(2, 2).allows(PodLimits(1, 2)))
    assert(!PodLimits(2, 2).allows(PodLimits(3, 1)) && !PodLimits(2, 2).allows(PodLimits(1, 3)))
