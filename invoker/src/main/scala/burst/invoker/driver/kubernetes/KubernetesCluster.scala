package burst.invoker.driver
package kubernetes

import burst.node.SetupException
import io.fabric8.kubernetes.api.model.{Secret as KubernetesSecret, *}
import io.fabric8.kubernetes.client.dsl.{AnyNamespaceOperation, NonNamespaceOperation, PodResource, Resource}
import io.fabric8.kubernetes.client.{ConfigBuilder, KubernetesClient, KubernetesClientBuilder}
import scala.annotation.tailrec
import scala.concurrent.duration.FiniteDuration
import scala.jdk.CollectionConverters.*
import scala.util.control.NonFatal

/** The connection to one Kubernetes API server. `resizes` is whether the server can change pods' limits while
  * they run, `invoker` is the pod that this process is in, if any: Kubernetes removes its dependants when it
  * is gone.
  */
final class KubernetesCluster private (
    client: KubernetesClient,
    val namespace: String,
    val callTimeout: FiniteDuration,
    val resizes: Boolean,
    val invoker: Option[OwnerReference]
) extends AutoCloseable:
  private[driver] def pods: NonNamespaceOperation[Pod, PodList, PodResource] =
    client.pods().inNamespace(namespace)

  private[driver] def secrets
      : NonNamespaceOperation[KubernetesSecret, SecretList, Resource[KubernetesSecret]] =
    client.secrets().inNamespace(namespace)

  /** Nodes and pods of the whole cluster, which require permissions of their own. */
  private[driver] def nodes: NonNamespaceOperation[Node, NodeList, Resource[Node]] = client.nodes()
  private[driver] def allPods: AnyNamespaceOperation[Pod, PodList, PodResource] =
    client.pods().inAnyNamespace()

  private[driver] def json(value: AnyRef): String = client.getKubernetesSerialization.asJson(value)

  def close(): Unit = client.close()

object KubernetesCluster:
  private val Retries = 3

  /** Connects with the service account of the pod this process is in, otherwise as kubectl would. Throws
    * `SetupException`.
    */
  def connect(settings: KubernetesSettings): KubernetesCluster =
    val millis = settings.callTimeout.toMillis.toInt
    val config = ConfigBuilder()
      .withConnectionTimeout(millis)
      .withRequestTimeout(millis)
      .withRequestRetryBackoffLimit(Retries)
      .build()
    of(KubernetesClientBuilder().withConfig(config).build(), settings)

  private[driver] def of(client: KubernetesClient, settings: KubernetesSettings): KubernetesCluster =
    val namespace = settings.namespace.orElse(Option(client.getNamespace)).getOrElse("default")
    try
      val resources = client.getApiResources("v1").getResources.asScala
      val resizes = resources.exists(_.getName == "pods/resize")
      val invoker = settings.pod.map(name => reference(client, namespace, name))
      new KubernetesCluster(client, namespace, settings.callTimeout, resizes, invoker)
    catch
      case NonFatal(problem) =>
        client.close()
        problem match
          case setup: SetupException => throw setup
          case _ =>
            throw SetupException(
              s"Kubernetes does not answer (${reason(problem)}): run the invoker in a pod or where kubectl " +
                "works, or set burst.invoker.driver to another.",
              problem
            )

  private def reference(client: KubernetesClient, namespace: String, name: String): OwnerReference =
    Option(client.pods().inNamespace(namespace).withName(name).get()) match
      case Some(pod) =>
        OwnerReferenceBuilder()
          .withApiVersion("v1")
          .withKind("Pod")
          .withName(name)
          .withUid(pod.getMetadata.getUid)
          .build()
      case None =>
        throw SetupException(
          s"there is no pod '$name' in namespace '$namespace': set burst.invoker.kubernetes.pod to the pod of " +
            "this invoker, which must be in its packs' namespace, or to nothing."
        )

  private[driver] def reason(problem: Throwable): String =
    @tailrec def root(problem: Throwable): Throwable =
      if problem.getCause == null then problem else root(problem.getCause)
    val cause = root(problem)
    Option(cause.getMessage).getOrElse(cause.getClass.getSimpleName).linesIterator.mkString(" ").take(300)
