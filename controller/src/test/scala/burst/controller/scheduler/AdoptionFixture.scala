package burst.controller.scheduler

import burst.controller.store.insert
import burst.controller.flare.*
import burst.protocol.*
import org.apache.pekko.actor.typed.ActorRef
import scala.concurrent.duration.DurationInt

/** A scheduler that finds flares placed by its predecessor, and the invokers that run them. */
abstract class AdoptionFixture extends SchedulerFixture:
  protected val Bound = 30.seconds

  protected def placed(state: FlareState, invokers: String*): Flare =
    val fresh = AdmissionControl.accept(
      Samples.request(2 * invokers.length, timeout = 10.minutes),
      Timestamp.ofMicros(5)
    )
    fresh.copy(
      state = state,
      placed = Some(Timestamp.ofMicros(900_000)),
      started = Option.when(state == FlareState.Running)(Timestamp.ofMicros(950_000)),
      granularity = Some(2),
      packs = invokers.toVector.zipWithIndex.map: (name, pack) =>
        PackRecord(PackId(pack), InvokerId(name), Vector(2 * pack, 2 * pack + 1), None),
      workers = fresh.workers.map(worker => worker.copy(pack = Some(PackId(worker.worker / 2))))
    )

  protected def successor(flares: Flare*): World =
    val store = MemoryFlareStore()
    flares.foreach(store.insert(_))
    World(store, adoption = Some(Bound))

  /** Reports the packs of an invoker that has just joined, which has been up since `since`. */
  protected def holdsSince(world: World, invoker: ScriptedInvoker, since: Timestamp, packs: PackKey*): Unit =
    val holds = Holds(packs.toVector, unbroken = false, Some(since))
    world.scheduler ! GangScheduler.InvokerHeld(invoker.id, invoker.ref, holds)

  protected def holds(world: World, invoker: ScriptedInvoker, unbroken: Boolean, packs: PackKey*): Unit =
    world.scheduler ! GangScheduler.InvokerHeld(invoker.id, invoker.ref, Holds(packs.toVector, unbroken))

  /** An invoker with a pack that the previous scheduler asked for. */
  protected final class KeptPack(
      invoker: ScriptedInvoker,
      flare: Flare,
      pack: PackId,
      replyTo: ActorRef[InvokerReport]
  ):
    def tell(events: PackEvent*): Unit =
      val start = Option.when(events.exists(_.isInstanceOf[PackEvent.Ready]))(PackStart.Cold)
      number += 1
      replyTo ! PackReport(
        flare.id,
        flare.attempt,
        pack,
        invoker.id,
        start,
        events.toVector,
        number = Some(number)
      )
    private var number = 0L

    def succeed(workers: Int*): Unit =
      tell(workers.flatMap(worker =>
        Vector(
          PackEvent.WorkerStarted(worker, Timestamp.ofMicros(1)),
          PackEvent.WorkerSucceeded(worker, s"\"$worker again\"", Timestamp.ofMicros(2))
        )
      )*)

    def end(): Unit = tell(PackEvent.PackEnded(true, None, Timestamp.ofMicros(3)))

  protected def adopt(invoker: ScriptedInvoker, flare: Flare): KeptPack =
    kept(invoker, flare, invoker.adopted())

  protected def kept(
      invoker: ScriptedInvoker,
      flare: Flare,
      adopted: (AdoptPack, ActorRef[InvokerReport])
  ): KeptPack =
    val (adopt, replyTo) = adopted
    assertEquals((adopt.flareId, adopt.attempt), (flare.id, flare.attempt))
    KeptPack(invoker, flare, adopt.pack, replyTo)
