package burst.invoker.driver
package kubernetes

import io.fabric8.kubernetes.client.dsl.base.{PatchContext, PatchType}
import io.fabric8.kubernetes.client.{KubernetesClient, NamespacedKubernetesClient}
import java.nio.file.Path

/** Where the driver's suite has its pods: in a namespace nobody else uses. */
trait TestCluster extends AutoCloseable:
  /** A connection with an invoker's rights; a driver closes its own. */
  def connect(): KubernetesClient

  /** With the rights to see and do everything in the namespace. */
  def client: NamespacedKubernetesClient

  def image: String

  /** Where pods have the runtime's program. */
  def runtime: Path

  /** Ends a pod from outside, and waits until it has ended. */
  def kill(name: String): Unit

  /** Whether anything of the pod runs. */
  def runs(name: String): Boolean

  /** Has Kubernetes end a pod, for having run too long. */
  def expire(name: String): Unit =
    val merge = PatchContext.of(PatchType.JSON_MERGE)
    val _ = client.pods().withName(name).patch(merge, """{"spec":{"activeDeadlineSeconds":1}}""")

object TestCluster:
  /** The cluster `BURST_TEST_KUBECONFIG` leads to, else one that is imitated in this process. */
  def apply(): TestCluster = sys.env.get("BURST_TEST_KUBECONFIG") match
    case Some(kubeconfig) => RealCluster(kubeconfig)
    case None => MockCluster(Prerequisites.runtimeBinary)
