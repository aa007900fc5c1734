package burst.invoker.driver
package kubernetes

import burst.protocol.WantedPacks
import io.fabric8.kubernetes.api.model.Pod
import org.slf4j.LoggerFactory
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.{Deadline, DurationInt}
import scala.jdk.CollectionConverters.*
import scala.util.control.NonFatal

/** Keeps as many pods as packs wait for room ([[DemandPod]]), looking after them every other second for as
  * long as there are any. One that has been given a node, or was made for other nodes than there are, is
  * removed: a new node's room is for packs. Then it takes a turn until there are others, by which those who
  * waited may have it.
  *
  * @param hosts
  *   the nodes that are there
  * @param arch
  *   what packs are built for, as `uname` says it
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

  /** Held for as long as calls are made, so that who closes finds what there is. */
  private val calls = Object()
  private var made = false
  @volatile private var closed = false
  @volatile private var rests = Deadline.now

  private var wanted = Vector.empty[WantedPacks]
  private var due = false

  /** Whether the last turn failed in something, which is told once; and whether this one has. */
  private var failing = false
  @volatile private var broken = false

  /** Does not block. */
  def want(packs: Vector[WantedPacks]): Unit = synchronized:
    wanted = packs
    if !due && !closed then
      due = true
      Delay.after(Pause)(keep())

  /** Where demand pods leave packs no room, as by a quota, they go for a while. */
  def backOff(): Unit =
    rests = Rest.fromNow
    clear()

  /** Removes all, those of an earlier run among them. Blocks. */
  def clear(): Unit = calls.synchronized:
    attempt(pods().foreach(pod => attempt(remove(pod)))): Unit

  /** Removes those it has made. Blocks. */
  def close(): Unit =
    closed = true
    calls.synchronized:
      if made then clear()

  private def keep(): Unit = if !closed then
    val packs = synchronized(if rests.hasTimeLeft() then Vector.empty else wanted)
    broken = false
    val left = attempt(calls.synchronized(settle(DemandPod.kinds(packs, settings.demandPods))))
    synchronized:
      failing = broken
      due = !closed && (wanted.nonEmpty || left.forall(_ > 0))
      if due then Delay.after(Interval)(keep())

  /** How many may be there then. */
  private def settle(kinds: Map[DemandPod.Kind, Int]): Int =
    val here = hosts()
    val (waiting, others) = pods().partition(DemandPod.waits(_, here))
    val byKind = waiting.groupBy(DemandPod.kind)
    val surplus =
      for (kind, there) <- byKind.toVector; pod <- there.drop(kind.flatMap(kinds.get).getOrElse(0)) yield pod
    (others ++ surplus).foreach(pod => attempt(remove(pod)))
    if others.isEmpty then
      for
        (kind, count) <- kinds
        _ <- 0 until count - byKind.get(Some(kind)).fold(0)(_.size)
      do attempt(create(DemandPod.pod(settings, owner, kind, here, arch, cluster.invoker)))
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
        val news = synchronized(!failing && !broken)
        broken = true
        if news then
          log.warn("pods that show what waits cannot be kept: {}", KubernetesCluster.reason(problem))
        None

private[driver] object DemandPods:
  /** Between what is wanted and what is done about it. */
  private val Pause = 100.millis
  private val Interval = 2.seconds
  private val Rest = 30.seconds
