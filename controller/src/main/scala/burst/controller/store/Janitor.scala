package burst.controller.store

import burst.controller.blob.OutputStore
import org.apache.pekko.actor.typed.ActorSystem
import org.slf4j.LoggerFactory
import scala.concurrent.Future
import scala.util.control.NonFatal

/** Deletes what retention no longer covers, of each namespace its own, and then packages nothing needs.
  *
  * @param storedBytes
  *   how many bytes the flares of a namespace may take
  */
final class Janitor(
    flares: FlareStore,
    packages: Packages,
    outputs: OutputStore,
    retention: Retention,
    storedBytes: String => Long,
    nowMicros: () => Long = () => System.currentTimeMillis() * 1000
):
  private val log = LoggerFactory.getLogger(classOf[Janitor])

  @volatile private var stopping = false

  /** When packages were last swept: all there are need not be looked at in each round. */
  @volatile private var swept = Option.empty[Long]

  /** One round: as many steps as it takes. Returns how many flares went. */
  def round(): Int =
    val deleted = flares.namespaces().map(prune).sum
    val now = nowMicros()
    if swept.forall(_ + Packages.Patience.toMicros <= now) then
      packages.sweep()
      flares.unknown(outputs.flares()).foreach(outputs.delete)
      swept = Some(now)
    else packages.removeUnneeded()
    deleted

  private def prune(namespace: String): Int =
    val keep = Keep(retention.flares, nowMicros() - retention.age.toMicros, storedBytes(namespace))
    flares.outdated(namespace, keep).fold(0): until =>
      Iterator
        .continually(if stopping then 0 else flares.prune(namespace, until, retention.batch))
        .takeWhile(_ > 0)
        .sum

  /** A round at once and then at every interval. What it returns ends that, and completes when no round is
    * under way any more.
    */
  def start(blocking: Blocking)(using system: ActorSystem[?]): () => Future[Unit] =
    @volatile var latest = Future.unit
    val rounds = system.scheduler.scheduleWithFixedDelay(
      java.time.Duration.ZERO,
      java.time.Duration.ofNanos(retention.interval.toNanos),
      () => if latest.isCompleted then latest = blocking(quietly()),
      system.executionContext
    )
    () =>
      stopping = true
      rounds.cancel()
      latest

  // A round that failed is tried again at the next interval.
  private def quietly(): Unit =
    try
      val _ = round()
    catch case NonFatal(cause) => log.warn("deleting old flares failed", cause)
