package burst.simulator

import burst.protocol.*
import java.util.concurrent.{LinkedBlockingQueue, Semaphore, TimeUnit}
import org.apache.pekko.actor.typed.Behavior
import org.apache.pekko.actor.typed.scaladsl.Behaviors

/** The packs of simulated invokers, which run until they are ended. */
final class HeldPacks:
  private val running = LinkedBlockingQueue[() => Unit]()
  private val begun = Semaphore(0)

  /** Waits until this many more have begun. */
  def awaitBegun(count: Int): Unit =
    if !begun.tryAcquire(count, 10, TimeUnit.MINUTES) then
      throw IllegalStateException(s"only ${begun.availablePermits} of $count packs have begun")

  /** Lets the running pack that began first succeed. */
  def finishOldest(): Unit =
    val finish = running.remove()
    finish()

  /** An invoker whose packs are up immediately. */
  def invoker(id: InvokerId): Behavior[InvokerRequest] = Behaviors.receiveMessage {
    case InvokerRequest(PreparePack(a), replyTo) =>
      def report(events: Vector[PackEvent], start: Option[PackStart] = None): Unit =
        replyTo ! PackReport(a.flareId, a.attempt, a.pack, id, start, events)
      report(Vector(PackEvent.Ready(None, Timestamp.ofMicros(1))), Some(PackStart.Warm))
      report(a.workers.map(PackEvent.WorkerStarted(_, Timestamp.ofMicros(1))).toVector)
      running.add { () =>
        val ended = a.workers.map(PackEvent.WorkerSucceeded(_, "null", Timestamp.ofMicros(2))).toVector
        report(ended :+ PackEvent.PackEnded(reusable = true, None, Timestamp.ofMicros(3)))
      }: Unit
      begun.release()
      Behaviors.same
    case _ => Behaviors.same
  }
