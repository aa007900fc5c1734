package burst.invoker.driver
package kubernetes

import io.fabric8.kubernetes.client.dsl.base.{PatchContext, PatchType}
import io.fabric8.kubernetes.client.{KubernetesClient, NamespacedKubernetesClient}
import java.nio.file.Path

/** Where the driver's suite creates its pods: in a namespace of its own. */
trait TestCluster extends AutoCloseable:
  /** A connection with an invoker's rights, which its driver closes. */
  def connect(): KubernetesClient

  /** A client with full rights in the namespace. */
  def client: NamespacedKubernetesClient

  def image: String

  /** The path of the runtime's program in pods. */
  def runtime: Path

  /** Ends a pod from outside, and waits until it has ended. */
  def kill(name: String): Unit

  /** Whether any process of the pod runs. */
  def runs(name: String): Boolean

  /** Makes Kubernetes end a pod because it has run too long. */
  def expire(name: String): Unit =
    val merge = PatchContext.of(PatchType.JSON_MERGE)
    val _ = client.pods().withName(name).patch(merge, """{"spec":{"activeDeadlineSeconds":1}}""")

object TestCluster:
  /** The cluster that `BURST_TEST_KUBECONFIG` names, otherwise one simulated in this process. */
  def apply(): TestCluster = sys.env.get("BURST_TEST_KUBECONFIG") match
    case Some(kubeconfig) => RealCluster(kubeconfig)
    case None => MockCluster(Prerequisites.runtimeBinary)
