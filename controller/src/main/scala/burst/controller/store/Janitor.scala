package burst.controller.store

import burst.controller.blob.{BlobName, FlareBlobStore}
import burst.node.MonotonicTime
import burst.protocol.{FlareId, Timestamp}
import org.apache.pekko.actor.typed.ActorSystem
import org.slf4j.LoggerFactory
import scala.concurrent.Future

/** Deletes what retention no longer covers, of each namespace its own, and then packages nothing needs.
  *
  * @param storedBytes
  *   how many bytes the flares of a namespace may take
  */
final class Janitor(
    flares: FlareStore,
    packages: Packages,
    blobs: FlareBlobStore,
    retention: Retention,
    storedBytes: String => Long,
    clock: () => Timestamp = () => Timestamp.now(),
    elapsed: () => MonotonicTime = () => MonotonicTime.now()
):
  private val log = LoggerFactory.getLogger(classOf[Janitor])

  @volatile private var stopping = false

  /** When packages were last swept: all there are need not be looked at in each round. */
  @volatile private var swept = Option.empty[MonotonicTime]

  /** Flares that had blobs and no record then. */
  @volatile private var strangers = Set.empty[FlareId]

  /** Flares that have ended and whose inputs went with an earlier sweep at the latest: they get no others. */
  @volatile private var settled = Set.empty[FlareId]

  /** One round: as many steps as it takes. Returns how many flares went. */
  def round(): Int =
    val deleted = flares.namespaces().map(prune).sum
    val now = elapsed()
    val due = swept.forall(_ + Packages.Patience <= now)
    if due then
      packages.sweep()
      sweepBlobs()
      swept = Some(now)
    else packages.removeUnneeded()
    deleted

  private def prune(namespace: String): Int =
    val keep = Keep(
      flares = retention.flares,
      endedSince = clock() - retention.age,
      bytes = storedBytes(namespace)
    )
    flares.outdated(namespace, keep).fold(0): until =>
      Iterator
        .continually(if stopping then Janitor.Nothing else flares.prune(namespace, until, retention.batch))
        .takeWhile(_.flares > 0)
        .map: pruned =>
          pruned.withBlobs.foreach(blobs.delete(_))
          pruned.flares
        .sum

  /** What controllers left that ended in the middle: blobs of flares that are stored no more, or never were,
    * and inputs of some that have ended.
    */
  private def sweepBlobs(): Unit =
    val present = blobs.flares()
    // A flare that is just being stored has its inputs first: it is known by the next time.
    val unknown = flares.unknown(present).toSet
    goingOn(unknown.filter(strangers)).foreach(blobs.delete(_))
    strangers = unknown
    val ended = flares.ended(present).toSet
    goingOn(ended.diff(settled)).foreach(blobs.delete(_, BlobName.Inputs))
    settled = ended

  private def goingOn[A](all: Iterable[A]): Iterator[A] = all.iterator.takeWhile(_ => !stopping)

  /** A round at once and then at every interval. What it returns ends that, and completes when no round is
    * under way any more.
    */
  def start(blocking: Blocking)(using ActorSystem[?]): () => Future[Unit] =
    val stop = Rounds.start(retention.interval, blocking, log, "deleting old flares failed"):
      val _ = round()
    () =>
      stopping = true
      stop()

object Janitor:
  private val Nothing = Pruned(0, Vector.empty)
