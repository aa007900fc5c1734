package burst.controller.scheduler

import burst.controller.flare.Output
import burst.controller.flare.{Flare, FlareState, WorkerRecord, WorkerResult, WorkerState}
import burst.controller.store.{DrainedInvokers, FlareChange, FlareStore}
import burst.protocol.{BackendConfig, Failure, FailureKind, FlareId, InvokerId, Operation, PackId, Timestamp}

/** What a starting controller found in the store. `queued` flares must be queued again, with the slot limits
  * of their namespaces; `adopted` ones may still run, and have the results that are stored, groups before the
  * flares on them; `turns` wait for their group, in the order they arrived; `left` may still have data on
  * their backends; `orphans` are packs that may still be running: nobody waits for them, and the new
  * scheduler does not count their slots. The flares of `revoked` namespaces must be ended. `drained` machines
  * get no flares.
  */
final case class Recovered(
    queued: Vector[Flare],
    limits: Map[String, Int],
    left: Vector[(FlareId, BackendConfig)],
    orphans: Map[InvokerId, Vector[(FlareId, PackId)]],
    revoked: Set[String],
    adopted: Vector[Flare] = Vector.empty,
    turns: Vector[Flare] = Vector.empty,
    drained: Set[InvokerId] = Set.empty
)

/** Takes up the unfinished flares of a controller that stopped: a queued flare is queued again, as its
  * request is stored completely. One that had its slots continues if packs outlive a scheduler (`adopts`), a
  * group with the flare on it and those that wait for it; otherwise it is reported failed, as the reports of
  * its packs reach nobody any more, and so are the flares that waited for a group. Stored results are kept;
  * every other worker gets the reason why it has none. Blocks.
  */
object Recovery:
  def run(
      store: FlareStore,
      drained: DrainedInvokers,
      backends: BackendCatalog,
      limits: SlotLimits,
      adopts: Boolean,
      now: Timestamp
  ): Recovered =
    val unfinished = store.takeUnfinished()
    val (queued, others) = unfinished
      .partition(flare => flare.state == FlareState.Queued && flare.request.memberOf.isEmpty)
    val (own, ofGroups) = others.partition(_.request.memberOf.isEmpty)
    val adoptable = own.filter(flare => adopts && isAdoptable(flare))
    val groups =
      (if adopts then queued ++ adoptable else Vector.empty).filter(_.request.isGroup).map(_.id).toSet
    val members = ofGroups.filter(_.request.memberOf.exists(groups)).sortBy(_.created)
    val (turns, running) = members.partition(_.state == FlareState.Queued)
    val adopted = adoptable ++ running.filter(isAdoptable)
    val begun = others.filterNot((adopted ++ turns).map(_.id).toSet.compose(_.id))
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
      adopted.map(flare => flare.copy(workers = known(flare, results(store, flare), now))),
      turns.map(flare => FlareLifecycle.reset(flare, flare.attempt)),
      drained.all()
    )

  private val Page = 64

  private def isAdoptable(flare: Flare): Boolean =
    flare.packs.nonEmpty && flare.workers.length == flare.request.size

  /** The known outcomes of workers: read a page at a time, and without the outputs themselves. */
  private def results(store: FlareStore, flare: Flare): Map[Int, WorkerResult] =
    (0 until flare.request.size by Page)
      .flatMap(from => store.results(flare.id, from, from + Page))
      .filter(r => r.output.isDefined || r.error.isDefined)
      .map(result => result.worker -> result.copy(output = result.output.map(_ => Output.OutOfLine(0))))
      .toMap

  /** The workers, updated with these results. */
  private def known(flare: Flare, byWorker: Map[Int, WorkerResult], now: Timestamp): Vector[WorkerRecord] =
    flare.workers.map: worker =>
      byWorker.get(worker.worker).fold(worker): result =>
        val state = result.error.fold(WorkerState.Succeeded): failure =>
          if failure.kind == FailureKind.Cancelled then WorkerState.Cancelled else WorkerState.Failed
        worker.copy(state = state, ended = worker.ended.orElse(Some(now)), error = result.error)

  private def reportFailed(store: FlareStore, flare: Flare, now: Timestamp): Unit =
    val byWorker = results(store, flare)
    val state = flare.state.toString.toLowerCase
    val why = Failure(
      FailureKind.ControllerRestarted,
      if flare.request.isGroup then "the controller restarted; open the group again"
      else s"the controller restarted while the flare was $state; run it again",
      operation = Some(if flare.state == FlareState.Running then Operation.Work else Operation.Start)
    )
    val all =
      if flare.workers.length == flare.request.size then flare
      else flare.copy(workers = FlareLifecycle.pending(flare.request.size))
    val invokers = flare.packs.map(pack => pack.pack -> pack.invoker).toMap
    val ended = known(all, byWorker, now).map: worker =>
      if byWorker.contains(worker.worker) then worker
      else
        val failure = why.copy(
          worker = Some(worker.worker),
          pack = worker.pack,
          invoker = worker.pack.flatMap(invokers.get)
        )
        worker.copy(state = WorkerState.Failed, ended = Some(now), error = Some(failure))
    val missing =
      ended.filterNot(w => byWorker.contains(w.worker)).map(w => WorkerResult(w.worker, None, w.error))
    val failed = flare.copy(state = FlareState.Failed, ended = Some(now), error = Some(why), workers = ended)
    val added = if flare.request.isGroup then Vector.empty else missing
    val _ = store.write(FlareChange(flare.id, FlareChange.Record.Next(failed), added))
