package burst.invoker.driver
package kubernetes

import burst.node.SetupException
import burst.protocol.ClusterRoom
import io.fabric8.kubernetes.api.model.{Node, Pod}
import io.fabric8.kubernetes.client.KubernetesClientException
import io.fabric8.kubernetes.client.informers.{ResourceEventHandler, SharedIndexInformer}
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicBoolean
import org.slf4j.LoggerFactory
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.{Deadline, DurationInt}
import scala.jdk.CollectionConverters.*
import scala.util.control.NonFatal

/** What the cluster currently has for this invoker's packs, by one watch over its nodes and one over its
  * pods: [[NodeCapacity]] computes it, again a moment after something has changed, so that a hundred pods
  * that start together are one change.
  */
private[driver] final class ClusterRooms private (
    settings: KubernetesSettings,
    owner: String,
    cluster: KubernetesCluster,
    most: Int,
    arch: String
)(using ExecutionContext)
    extends AutoCloseable:
  import ClusterRooms.*

  private val updatePending = AtomicBoolean()
  private var closed = Map.empty[String, Deadline]
  private var listeners = Vector.empty[() => Unit]
  @volatile private var last = ClusterRoom(Vector.empty, settings.memoryOverhead, most)

  private val others = OthersPods(owner, cluster.namespace, () => updateSoon())
  private val pods: SharedIndexInformer[Pod] = cluster.allPods
    .runnableInformer(0)
    .itemStore(others)
    // The watch is resumed however it breaks.
    .exceptionHandler((started, _) => started)

  private val nodes: SharedIndexInformer[Node] = cluster.nodes
    .runnableInformer(0)
    .exceptionHandler((started, _) => started)
    .addEventHandler(new ResourceEventHandler[Node]:
      override def onAdd(node: Node): Unit = updateSoon()
      override def onUpdate(before: Node, node: Node): Unit = updateSoon()
      override def onDelete(node: Node, lastStateUnknown: Boolean): Unit = updateSoon())

  def current: ClusterRoom = last

  def onChange(changed: () => Unit): Unit = synchronized:
    listeners :+= changed

  /** All existing nodes, by the label that Kubernetes gives each. */
  def hosts: Set[String] = nodes.getStore.list().asScala.map(NodeInfo.host).toSet

  /** Called when a node had no room for what should have fit: it gets nothing for a while, as Kubernetes
    * knows more about it than is seen here.
    */
  def refused(node: String): Unit =
    log.warn("node {} had no room for a pack: it is given none for {}", node, HoldOff.toCoarsest)
    synchronized:
      closed = closed.updated(node, HoldOff.fromNow)
    update()
    Delay.after(HoldOff + Pause)(updateSoon())

  def close(): Unit =
    nodes.close()
    pods.close()

  /** Blocks until nodes and pods are known. */
  private def begin(): Unit =
    for informer <- Vector(pods, nodes) do
      val started = informer.start().toCompletableFuture
      val _ = started.get((cluster.callTimeout * SyncTimeoutFactor).toMillis, TimeUnit.MILLISECONDS)
    update()

  private def updateSoon(): Unit =
    if updatePending.compareAndSet(false, true) then Delay.after(Pause)(update())

  private def update(): Unit =
    updatePending.set(false)
    val callbacks = synchronized:
      closed = closed.filterNot(_._2.isOverdue())
      val seen = nodes.getStore.list().asScala.map(NodeInfo.of(_, arch))
      val now = NodeCapacity.room(seen, others.byNode, settings, most, closed.keySet)
      val hasChanged = now != last
      last = now
      if hasChanged then listeners else Vector.empty
    callbacks.foreach(_())

private[driver] object ClusterRooms:
  private val log = LoggerFactory.getLogger(classOf[ClusterRooms])

  /** The time between a change and the new computation. */
  private val Pause = 100.millis

  private val HoldOff = 15.seconds

  /** In timeouts of calls: listing a large cluster takes more than one call. */
  private val SyncTimeoutFactor = 3

  /** The codes of an API server's answers if access is denied. */
  private val Denied = Set(401, 403, 404)

  private def isDenied(problem: Throwable): Boolean =
    Iterator.iterate(problem)(_.getCause).takeWhile(_ != null).exists:
      case answer: KubernetesClientException => Denied(answer.getCode)
      case _ => false

  /** Returns nothing, and logs why, if the invoker is not allowed to watch the cluster. Blocks until the
    * cluster has been read. Throws `SetupException` if that fails temporarily: the invoker must not guess the
    * room for the rest of its life.
    */
  def watch(
      settings: KubernetesSettings,
      owner: String,
      cluster: KubernetesCluster,
      most: Int,
      arch: String,
      blocking: ExecutionContext
  ): Option[ClusterRooms] =
    val rooms = ClusterRooms(settings, owner, cluster, most, arch)(using blocking)
    try
      rooms.begin()
      val nodes = rooms.current.nodes
      log.info("the cluster has {} slots for packs, on {} nodes", nodes.map(_.slots).sum, nodes.size)
      Some(rooms)
    catch
      case NonFatal(problem) if !isDenied(problem) =>
        rooms.close()
        throw SetupException(
          s"the cluster's nodes and pods cannot be watched: ${KubernetesCluster.reason(problem)}",
          problem
        )
      case NonFatal(problem) =>
        rooms.close()
        log.warn(
          "slots do not follow the cluster, there are {}: its nodes and pods cannot be watched ({}). Give the " +
            "invoker's service account the rights in deploy/k8s/rbac-cluster.yaml.",
          most,
          KubernetesCluster.reason(problem)
        )
        None
