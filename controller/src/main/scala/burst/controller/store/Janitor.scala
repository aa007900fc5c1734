package burst.controller.store

import burst.controller.blob.{BlobName, FlareBlobStore}
import burst.node.MonotonicTime
import burst.protocol.{FlareId, Timestamp}
import org.apache.pekko.actor.typed.ActorSystem
import org.slf4j.LoggerFactory
import scala.concurrent.Future

/** Deletes what retention no longer covers, in each namespace by its own limits, and then packages that
  * nothing needs.
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

  /** When packages were last swept: not all of them need be checked in each round. */
  @volatile private var swept = Option.empty[MonotonicTime]

  /** Flares that had blobs but no record at the last sweep. */
  @volatile private var strangers = Set.empty[FlareId]

  /** Ended flares whose inputs an earlier sweep has deleted: they get no new ones. */
  @volatile private var settled = Set.empty[FlareId]

  /** Runs one round, in as many steps as it takes. Returns how many flares were deleted. */
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

  /** Deletes leftovers of controllers that ended abruptly: blobs of flares that are no longer stored, or
    * never were, and inputs of ended ones.
    */
  private def sweepBlobs(): Unit =
    val present = blobs.flares()
    // A flare that is being stored has its inputs before its record: by the next sweep it is known.
    val unknown = flares.unknown(present).toSet
    goingOn(unknown.filter(strangers)).foreach(blobs.delete(_))
    strangers = unknown
    val ended = flares.ended(present).toSet
    goingOn(ended.diff(settled)).foreach(blobs.delete(_, BlobName.Inputs))
    settled = ended

  private def goingOn[A](all: Iterable[A]): Iterator[A] = all.iterator.takeWhile(_ => !stopping)

  /** Runs a round immediately and then at every interval. The returned function stops that, and completes
    * when no round is running any more.
    */
  def start(blocking: Blocking)(using ActorSystem[?]): () => Future[Unit] =
    val stop = Rounds.start(retention.interval, blocking, log, "deleting old flares failed"):
      val _ = round()
    () =>
      stopping = true
      stop()

object Janitor:
  private val Nothing = Pruned(0, Vector.empty)
