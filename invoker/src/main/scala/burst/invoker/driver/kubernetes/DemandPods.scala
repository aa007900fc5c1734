package burst.invoker.driver
package kubernetes

import burst.protocol.WantedPacks
import io.fabric8.kubernetes.api.model.Pod
import org.slf4j.LoggerFactory
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.DurationInt
import scala.jdk.CollectionConverters.*
import scala.util.control.NonFatal

/** Keeps as many pods as packs wait for room ([[DemandPod]]), looking after them every other second for as
  * long as there are any: one that has been given a node is removed, as the node's room is for packs.
  *
  * @param hosts
  *   the nodes that are there
  */
private[driver] final class DemandPods(
    settings: KubernetesSettings,
    owner: String,
    cluster: KubernetesCluster,
    hosts: () => Set[String]
)(using ExecutionContext)
    extends AutoCloseable:
  import DemandPods.*

  private val log = LoggerFactory.getLogger(classOf[DemandPods])
  private var wanted = Vector.empty[WantedPacks]
  private var due = false
  private var failing = false
  private var closed = false

  /** Does not block. */
  def want(packs: Vector[WantedPacks]): Unit = synchronized:
    wanted = packs
    if !due && !closed then
      due = true
      Delay.after(Pause)(keep())

  /** Removes those of an earlier run. Blocks. */
  def clear(): Unit = attempt(pods().foreach(remove)): Unit

  /** Removes all. Blocks. */
  def close(): Unit =
    synchronized:
      closed = true
      wanted = Vector.empty
    clear()

  private def keep(): Unit =
    val (packs, over) = synchronized((wanted, closed))
    if !over then
      val left = attempt(settle(DemandPod.kinds(packs, settings.demandPods)))
      synchronized:
        due = !closed && (wanted.nonEmpty || left.forall(_ > 0))
        if due then Delay.after(Interval)(keep())

  /** How many there are then. */
  private def settle(kinds: Map[DemandPod.Kind, Int]): Int =
    val byKind = pods().groupBy(pod => DemandPod.kind(pod).filter(_ => DemandPod.waits(pod)))
    for (kind, there) <- byKind do there.drop(kind.flatMap(kinds.get).getOrElse(0)).foreach(remove)
    val here = hosts()
    for
      (kind, count) <- kinds
      _ <- 0 until count - byKind.get(Some(kind)).fold(0)(_.size)
    do
      val pod = DemandPod.pod(settings, owner, kind, here, cluster.invoker)
      val made = cluster.pods.resource(pod).create()
      // who closed meanwhile has looked before it was there
      if synchronized(closed) then remove(made)
    kinds.valuesIterator.sum

  private def pods(): Vector[Pod] =
    cluster.pods.withLabel(DemandPod.Label, owner).list().getItems.asScala.toVector

  private def remove(pod: Pod): Unit =
    val _ = cluster.pods.withName(pod.getMetadata.getName).withGracePeriod(0).delete()

  private def attempt[A](calls: => A): Option[A] =
    try
      val outcome = calls
      synchronized { failing = false }
      Some(outcome)
    catch
      case NonFatal(problem) =>
        val news = synchronized:
          val before = failing
          failing = true
          !before
        if news then
          log.warn("pods that show what waits cannot be kept: {}", KubernetesCluster.reason(problem))
        None

private[driver] object DemandPods:
  /** Between what is wanted and what is done about it. */
  private val Pause = 100.millis
  private val Interval = 2.seconds
