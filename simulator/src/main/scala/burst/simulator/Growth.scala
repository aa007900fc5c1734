package burst.simulator

import burst.controller.flare.{Flare, FlareRequest}
import burst.controller.placement.Packing
import burst.controller.scheduler.{AdmissionControl, Refusal}
import burst.controller.store.{FlareChange, Storage}
import burst.protocol.{FlareId, Timestamp}
import java.nio.file.Path
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration.{DurationInt, FiniteDuration}

/** What a number of invokers and queued flares cost a controller. Each row is one controller that takes over
  * what is stored, fills its invokers and then gets one request after the other. The limits of the queue are
  * raised for it. Run it on a quiet machine: `load` shows how quiet it was.
  */
final class Growth(results: Results, mostInvokers: Int, mostQueued: Int):
  import Growth.Row

  private val machines = Vector(10, 100, 1000).filter(_ <= mostInvokers)
  private val queues = Vector(1000, 10_000, 100_000).filter(_ <= mostQueued)

  def measure(): Unit =
    // the first one is as slow as a program that has just started
    measured(10, 1000)
    val points = for queued <- queues; count <- machines yield (count, queued)
    points.foldLeft(Vector.empty[Row]): (rows, point) =>
      val more = rows :+ measured(point._1, point._2)
      // keeps the results so far, in case the rest does not finish
      results.table("growth", more)
      more
    : Unit

  private def measured(machines: Int, queued: Int): Row =
    results.temporarily("burst-growth")(GrowthRun(_, machines, queued).row())

object Growth:
  /** One line of `growth.csv`. */
  type Row = Seq[(String, Any)]

  val Slots = 48

  /** Workers per flare, except for the large one. */
  val Size = 8
  val Namespaces = 10

  /** How many more flares the queue accepts beyond those stored. */
  val Room = 600

  /** How often a request is repeated, and a slow one. */
  val Repetitions = 200
  val SlowRepetitions = 20

  /** The timeout of a flare. */
  val Timeout: FiniteDuration = 1.hour

/** One controller with a number of invokers and queued flares. */
private final class GrowthRun(directory: Path, machines: Int, queued: Int):
  import Growth.*

  private val running = machines * (Slots / Size)
  private val settings = s"""
    burst.limits.concurrent-slots = 1000000
    burst.scheduler.queue-limit = ${queued + Room}
    burst.scheduler.namespace-queue-limit = ${queued + Room}
    burst.scheduler.queue-deadline = 2h
    burst.scheduler.ask-timeout = 30m
  """

  def row(): Row =
    val (config, storage) = SimulatedController.store(directory, settings)
    store(storage, queued + running)
    val empty = Cost.heap()
    val (takeOver, controller) = Cost.of(SimulatedController.start(config, storage))
    try
      val held = (Cost.heap() - empty).toDouble / (queued + running)
      val packs = HeldPacks()
      val (filling, _) = Cost.of:
        controller.invokers(machines, Slots)(packs.invoker)
        packs.awaitBegun(running)
      val before = Seq(
        "invokers" -> machines,
        "queued" -> queued,
        "load of the machine" -> f"${Cost.load()}%.1f",
        "take-over s" -> takeOver.seconds,
        "take-over, processor s" -> takeOver.processor,
        "heap per queued flare KiB" -> held / 1024,
        "placement, processor ms" -> filling.each(running).processorMillis
      ) ++ measureRequests(controller, packs)
      val heartbeat = heartbeats(controller)
      before ++ Seq(
        "heartbeat, processor µs" -> heartbeat.processorMillis * 1000,
        "heartbeats per second" -> 1 / heartbeat.seconds,
        "list of 30 ms" -> Cost.of(storage.flares.list(Some(namespace(0)), None, None, 30, 0))._1.millis,
        "count by state ms" -> Cost.of(storage.flares.countByState())._1.millis
      )
    finally controller.close()

  private def store(storage: Storage, count: Int): Unit =
    (0 until count).grouped(1000).foreach: part =>
      given ExecutionContext = ExecutionContext.global
      val stored = part.map: i =>
        val flare = AdmissionControl.accept(request(i), Timestamp.ofMicros(i))
        val change = FlareChange(flare.id, FlareChange.Record.New(flare, begun = false))
        storage.flares.write(change)(ExecutionContext.global)
      Await.result(Future.sequence(stored), 1.minute)

  /** What each of these took, for submissions until they were answered: one that has to wait; the end of a
    * flare until the next one had its slots; the position in the queue of a flare that had been there for a
    * while, and of one that was just submitted; a submission while a large flare waits for others to end; one
    * that is refused, as the queue is full.
    */
  private def measureRequests(controller: SimulatedController, packs: HeldPacks): Row =
    val submission = many(Repetitions)(i => accepted(controller.submit(request(i))))
    val ending = many(Repetitions): _ =>
      packs.finishOldest()
      packs.awaitBegun(1)
    val known = accepted(controller.submit(request(0)))
    val position = (0 until SlowRepetitions).map: _ =>
      // the maximum age of a forecast
      Thread.sleep(300)
      Cost.of(locate(controller, known.id))._1
    val newPosition = (0 until SlowRepetitions).map: i =>
      val flare = accepted(controller.submit(request(i)))
      Cost.of(locate(controller, flare.id))._1
    // it waits for half of all slots: later flares can overtake it if that does not delay it
    val large = Workload.request(running * Size / 2, Packing.Mixed, None, "large", Timeout, "large")
    accepted(controller.submit(large))
    packs.finishOldest()
    val behind = many(Repetitions)(i => accepted(controller.submit(request(i))))
    while controller.submit(request(0)).isRight do ()
    val refusal = many(Repetitions)(i => refused(controller.submit(request(i))))
    def both(what: String, cost: Cost) =
      Seq(s"$what ms" -> cost.millis, s"$what, processor ms" -> cost.processorMillis)
    both("submission", submission) ++ both("end to next placed", ending) ++
      Seq("place in the queue ms" -> mean(position).millis) ++
      Seq("place of one just submitted ms" -> mean(newPosition).millis) ++
      both("submission behind a large one", behind) ++ both("refusal", refusal)

  private def heartbeats(controller: SimulatedController): Cost =
    many(SlowRepetitions) { round =>
      val load = (round + 1) / 100.0
      (0 until machines).foreach(i => controller.heartbeat(SimulatedController.status(i, Slots, load)))
      controller.awaitInvokers(_.last.status.cpuLoad == load)
    }.each(machines)

  private def many(times: Int)(work: Int => Unit): Cost =
    Cost.of((0 until times).foreach(work))._1.each(times)

  private def mean(costs: Seq[Cost]): Cost = costs.reduce(_ + _).each(costs.length)

  private def locate(controller: SimulatedController, id: FlareId): Unit =
    // callers give up waiting for it after a second
    val _ = Await.result(controller.service.queueEstimate(id), 1.minute)

  private def accepted(answer: Either[Refusal, Flare]): Flare =
    answer.fold(refusal => throw IllegalStateException(s"refused: $refusal"), identity)

  private def refused(answer: Either[Refusal, Flare]): Unit =
    require(answer.isLeft, "the queue takes more than it should")

  private def request(number: Int): FlareRequest =
    Workload.request(Size, Packing.Mixed, None, "queued", Timeout, namespace(number % Namespaces))

  private def namespace(number: Int): String = s"namespace$number"
