package burst.controller.scheduler

import burst.controller.flare.Output
import burst.controller.flare.{Flare, FlareState, WorkerResult, WorkerState}
import burst.controller.store.{DrainedInvokers, FlareStore}
import burst.protocol.{BackendConfig, Failure, FailureKind, FlareId, InvokerId}

/** What a starting controller found in the store. `queued` are to be queued again, with the slot limits of
  * their namespaces; `left` may still have something on their backends; `orphans` are packs that may still be
  * running: nobody waits for them, and their slots are not in the new books. What `revoked` namespaces have
  * is to be ended. Machines that are `drained` are given nothing.
  */
final case class Recovered(
    queued: Vector[Flare],
    limits: Map[String, Int],
    left: Vector[(FlareId, BackendConfig)],
    orphans: Map[InvokerId, Vector[(FlareId, Int)]],
    revoked: Set[String],
    drained: Set[InvokerId] = Set.empty
)

/** Takes up what a controller that stopped had not finished: a queued flare is queued again, as its request
  * is stored whole; one that had its slots is reported failed, as the packs it had report to nobody any more,
  * and so is one that waited for its turn on a group, as that has ended. Results that had been stored stay,
  * every other worker gets the reason for having none. Blocks.
  */
object Recovery:
  def run(
      store: FlareStore,
      drained: DrainedInvokers,
      backends: BackendCatalog,
      limits: SlotLimits,
      now: Long
  ): Recovered =
    val (queued, begun) = store
      .takeUnfinished()
      .partition(flare => flare.state == FlareState.Queued && flare.request.memberOf.isEmpty)
    begun.foreach(reportFailed(store, _, now))
    Recovered(
      queued.map(flare => FlareLifecycle.reset(flare, flare.attempt)),
      queued.map(_.namespace).distinct.map(namespace => namespace -> limits.lookUp(namespace)).toMap,
      begun
        .filter(flare => backends.needsCleaning(flare.request.backend))
        .flatMap(flare => backends.find(flare.request.backend, flare.request.chunkSize).map(flare.id -> _)),
      begun
        .flatMap(flare => flare.packs.map(pack => pack.invoker -> (flare.id, pack.pack)))
        .groupMap(_._1)(_._2),
      limits.revoked(),
      drained.all()
    )

  private val Page = 64

  private def reportFailed(store: FlareStore, flare: Flare, now: Long): Unit =
    // A page at a time, and without the outputs themselves.
    val byWorker = (0 until flare.request.size by Page)
      .flatMap(from => store.results(flare.id, from, from + Page))
      .filter(r => r.output.isDefined || r.error.isDefined)
      .map(result => result.worker -> result.copy(output = result.output.map(_ => Output.OutOfLine(0))))
      .toMap
    val state = flare.state.toString.toLowerCase
    val why = Failure(
      FailureKind.ControllerRestarted,
      if flare.request.isGroup then "the controller restarted; open the group again"
      else s"the controller restarted while the flare was $state; run it again",
      operation = Some(if flare.state == FlareState.Running then "work" else "start")
    )
    val workers =
      if flare.workers.length == flare.request.size then flare.workers
      else FlareLifecycle.pending(flare.request.size)
    val invokers = flare.packs.map(pack => pack.pack -> pack.invoker).toMap
    val ended = workers.map { worker =>
      byWorker.get(worker.worker) match
        case Some(WorkerResult(_, Some(_), _)) =>
          worker.copy(state = WorkerState.Succeeded, ended = worker.ended.orElse(Some(now)))
        case Some(WorkerResult(_, None, error)) =>
          worker.copy(state = WorkerState.Failed, ended = worker.ended.orElse(Some(now)), error = error)
        case None =>
          val failure = why.copy(
            worker = Some(worker.worker),
            pack = worker.pack,
            invoker = worker.pack.flatMap(invokers.get)
          )
          worker.copy(state = WorkerState.Failed, ended = Some(now), error = Some(failure))
    }
    val missing =
      ended.filterNot(w => byWorker.contains(w.worker)).map(w => WorkerResult(w.worker, None, w.error))
    if !flare.request.isGroup then store.addResults(flare.id, missing)
    store.update(
      flare.copy(state = FlareState.Failed, ended = Some(now), error = Some(why), workers = ended)
    )
