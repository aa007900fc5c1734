package burst.controller.store

import burst.controller.blob.OutputStore
import burst.controller.definition.Definitions
import org.apache.pekko.actor.typed.ActorSystem
import org.slf4j.LoggerFactory
import scala.concurrent.Future
import scala.util.control.NonFatal

/** Deletes, a little at a time, what retention no longer covers, and then packages nothing refers to. */
final class Janitor(
    flares: FlareStore,
    definitions: Definitions,
    outputs: OutputStore,
    retention: Retention,
    nowMicros: () => Long = () => System.currentTimeMillis() * 1000
):
  private val log = LoggerFactory.getLogger(classOf[Janitor])

  /** One round; returns how many flares went. */
  def round(): Int =
    val deleted = flares.prune(retention.flares, nowMicros() - retention.age.toMicros, retention.batch)
    definitions.sweep()
    flares.unknown(outputs.flares()).foreach(outputs.delete)
    deleted

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
      rounds.cancel()
      latest

  // A round that failed is tried again at the next interval.
  private def quietly(): Unit =
    try round()
    catch case NonFatal(cause) => log.warn("deleting old flares failed", cause)
