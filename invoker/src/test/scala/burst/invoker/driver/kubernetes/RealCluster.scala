package burst.invoker.driver
package kubernetes

import io.fabric8.kubernetes.api.model.{NamespaceBuilder, ObjectMetaBuilder, Pod}
import io.fabric8.kubernetes.client.{
  Config,
  ConfigBuilder,
  KubernetesClient,
  KubernetesClientBuilder,
  NamespacedKubernetesClient
}
import java.io.File
import java.nio.file.{Files, Path}
import java.util.UUID
import java.util.concurrent.TimeUnit
import scala.jdk.CollectionConverters.*
import scala.util.Using

/** A namespace of its own in a kubeconfig's cluster, removed at the end. It enforces the Pod Security
  * Standard "restricted", and drivers use the service account of deploy/k8s/rbac.yaml. Nodes must have the
  * runtime's image, and this machine must reach the addresses of pods.
  */
final class RealCluster(kubeconfig: String) extends TestCluster:
  private val namespace = s"burst-test-${UUID.randomUUID.toString.take(8)}"
  private val config = ConfigBuilder(Config.fromKubeconfig(File(kubeconfig))).withNamespace(namespace).build()
  val client: NamespacedKubernetesClient =
    KubernetesClientBuilder().withConfig(config).build().adapt(classOf[NamespacedKubernetesClient])

  private val token =
    val labels = Map("pod-security.kubernetes.io/enforce" -> "restricted").asJava
    val metadata = ObjectMetaBuilder().withName(namespace).withLabels(labels).build()
    client.namespaces().resource(NamespaceBuilder().withMetadata(metadata).build()).create()
    Using.resource(Files.newInputStream(RealCluster.rights))(client.load(_).inNamespace(namespace).create())
    client.serviceAccounts().withName("burst-invoker").tokenRequest().getStatus.getToken

  def connect(): KubernetesClient =
    val own = ConfigBuilder(Config.empty())
      .withMasterUrl(config.getMasterUrl)
      .withCaCertData(config.getCaCertData)
      .withCaCertFile(config.getCaCertFile)
      .withTrustCerts(config.isTrustCerts)
      .withNamespace(namespace)
      .withOauthToken(token)
      .build()
    KubernetesClientBuilder().withConfig(own).build()

  def image: String = Prerequisites.image
  def runtime: Path = Path.of("/usr/local/bin/burst-runtime")

  def kill(name: String): Unit =
    expire(name)
    val _ = client.pods().withName(name)
      .waitUntilCondition(pod => pod == null || !runs(pod), RealCluster.TimeoutSeconds, TimeUnit.SECONDS)

  def runs(name: String): Boolean = Option(client.pods().withName(name).get()).exists(runs)

  private def runs(pod: Pod): Boolean =
    pod.getStatus.getContainerStatuses.stream.anyMatch(_.getState.getRunning != null)

  def close(): Unit =
    client.namespaces().withName(namespace).delete()
    client.close()

object RealCluster:
  private val TimeoutSeconds = 30L

  private def rights: Path =
    Iterator
      .iterate(Path.of("").toAbsolutePath)(_.getParent)
      .takeWhile(_ != null)
      .map(_.resolve("deploy/k8s/rbac.yaml"))
      .find(Files.exists(_))
      .getOrElse(munit.Assertions.fail("deploy/k8s/rbac.yaml is not above the working directory"))
