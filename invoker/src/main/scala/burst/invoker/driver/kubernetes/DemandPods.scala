package burst.invoker.driver
package kubernetes

import burst.protocol.WantedPacks
import io.fabric8.kubernetes.api.model.Pod
import org.slf4j.LoggerFactory
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.{Deadline, DurationInt}
import scala.jdk.CollectionConverters.*
import scala.util.control.NonFatal

/** Keeps as many pods as there are packs that wait for room ([[DemandPod]]), checking them every other second
  * while there are any. One that has been scheduled, or was made for other nodes than the current ones, is
  * removed: a new node's room is for packs. Others are only made in the next turn, so that packs that waited
  * can have the room.
  *
  * @param hosts
  *   the existing nodes
  * @param arch
  *   what packs are built for, as reported by `uname`
  */
private[driver] final class DemandPods(
    settings: KubernetesSettings,
    owner: String,
    cluster: KubernetesCluster,
    hosts: () => Set[String],
    arch: String
)(using ExecutionContext)
    extends AutoCloseable:
  import DemandPods.*

  private val log = LoggerFactory.getLogger(classOf[DemandPods])

  /** Held during calls, so that `close` finds all pods that were made. */
  private val calls = Object()
  private var made = false
  @volatile private var closed = false
  @volatile private var backOffUntil = Deadline.now

  private var waitingPacks = Vector.empty[WantedPacks]
  private var scheduled = false

  /** Whether the last round failed, which is logged once; and whether this one has. */
  private var failing = false
  @volatile private var broken = false

  /** Does not block. */
  def requestRoom(packs: Vector[WantedPacks]): Unit = synchronized:
    waitingPacks = packs
    if !scheduled && !closed then
      scheduled = true
      Delay.after(Pause)(check())

  /** If demand pods leave packs no room, for example because of a quota, they are removed for a while. */
  def backOff(): Unit =
    backOffUntil = BackOff.fromNow
    clear()

  /** Removes all demand pods, including those of an earlier run. Blocks. */
  def clear(): Unit = calls.synchronized:
    attempt(pods().foreach(pod => attempt(remove(pod)))): Unit

  /** Removes the demand pods that this one has made. Blocks. */
  def close(): Unit =
    closed = true
    calls.synchronized:
      if made then clear()

  private def check(): Unit = if !closed then
    val packs = synchronized(if backOffUntil.hasTimeLeft() then Vector.empty else waitingPacks)
    broken = false
    val remaining = attempt(calls.synchronized(reconcile(DemandPod.kinds(packs, settings.demandPods))))
    synchronized:
      failing = broken
      scheduled = !closed && (waitingPacks.nonEmpty || remaining.forall(_ > 0))
      if scheduled then Delay.after(Interval)(check())

  /** Returns how many may exist afterwards. */
  private def reconcile(kinds: Map[DemandPod.Kind, Int]): Int =
    val currentHosts = hosts()
    val (waiting, others) = pods().partition(DemandPod.waits(_, currentHosts))
    val byKind = waiting.groupBy(DemandPod.kind)
    val surplus =
      for (kind, alike) <- byKind.toVector; pod <- alike.drop(kind.flatMap(kinds.get).getOrElse(0)) yield pod
    (others ++ surplus).foreach(pod => attempt(remove(pod)))
    if others.isEmpty then
      for
        (kind, count) <- kinds
        _ <- 0 until count - byKind.get(Some(kind)).fold(0)(_.size)
      do attempt(create(DemandPod.pod(settings, owner, kind, currentHosts, arch, cluster.invoker)))
    kinds.valuesIterator.sum + others.size + surplus.size

  private def create(pod: Pod): Unit = if !closed then
    made = true
    val _ = cluster.pods.resource(pod).create()

  private def pods(): Vector[Pod] =
    cluster.pods.withLabel(DemandPod.Label, owner).list().getItems.asScala.toVector

  private def remove(pod: Pod): Unit =
    val _ = cluster.pods.withName(pod.getMetadata.getName).withGracePeriod(0).delete()

  private def attempt[A](calls: => A): Option[A] =
    try Some(calls)
    catch
      case NonFatal(problem) =>
        val isFirst = synchronized(!failing && !broken)
        broken = true
        if isFirst then
          log.warn("pods that show what waits cannot be kept: {}", KubernetesCluster.reason(problem))
        None

private[driver] object DemandPods:
  /** The time between a change of demand and the reaction. */
  private val Pause = 100.millis
  private val Interval = 2.seconds
  private val BackOff = 30.seconds
