package burst.controller.scheduler

import burst.controller.flare.FlareRequest
import burst.controller.placement.{PackPlacement, Plan}
import burst.protocol.*
import org.apache.pekko.actor.typed.ActorRef
import scala.concurrent.duration.FiniteDuration

/** Sends commands to the packs of a flare, through the invokers of its attempt. The packs' reports go to
  * `reports`. Belongs to the flare's actor.
  */
private[scheduler] final class PackCommands(
    id: FlareId,
    request: FlareRequest,
    reports: ActorRef[InvokerReport]
):
  private var reachable = Map.empty[InvokerId, ActorRef[InvokerRequest]]

  /** Sets the invokers of an attempt. */
  def reach(invokers: Map[InvokerId, ActorRef[InvokerRequest]]): Unit = reachable = invokers
  def reach(id: InvokerId, invoker: ActorRef[InvokerRequest]): Unit =
    reachable = reachable.updated(id, invoker)

  def invokers: Vector[InvokerId] = reachable.keys.toVector

  def prepare(
      plan: Plan,
      attempt: Int,
      inputs: Inputs,
      backend: BackendConfig,
      timeLeft: FiniteDuration,
      variables: Environment,
      invocation: Environment
  ): Unit =
    // each attempt authenticates with a secret of its own: a pack left over from the last one cannot join
    val secret = Secret.random()
    val origin = request.origin.map(known => known.copy(trace = known.ofFlare(id)))
    plan.packs.foreach: pack =>
      val assignment = PackAssignment(
        id,
        attempt,
        request.definition,
        pack.pack,
        plan.packSizes,
        inputs match
          case Inputs.Each(values) =>
            Inputs.Each(values.slice(pack.firstWorker, pack.firstWorker + pack.size))
          case shared => shared
        ,
        backend,
        secret,
        timeLeft,
        request.memory,
        autostart = plan.packs.length == 1,
        request.group,
        request.egress,
        variables,
        elsewhere = plan.packs.count(_.invoker != pack.invoker),
        invocation = invocation,
        origin = origin,
        node = pack.node,
        shared = pack.shared
      )
      tell(pack, PreparePack(assignment))

  def start(packs: Vector[PackPlacement], endpoints: Vector[Option[String]]): Unit =
    packs.foreach(pack => tell(pack, StartPack(id, pack.pack, endpoints)))

  def abort(packs: Vector[PackPlacement], failure: Failure): Unit =
    packs.foreach(pack => tell(pack, AbortPack(id, pack.pack, failure)))

  def adopt(packs: Vector[PackPlacement], attempt: Int): Unit =
    packs.foreach(pack => tell(pack, AdoptPack(id, attempt, pack.pack)))

  /** The controller has stored this many of the pack's reports. */
  def stored(pack: PackPlacement, attempt: Int, reports: Long): Unit =
    tell(pack, PackStored(id, attempt = attempt, pack = pack.pack, reports = reports, over = false))

  /** Returns a function to be called once nothing of these packs matters any more; it reaches the present
    * invokers, even if others have been set by then.
    */
  def over(packs: Vector[PackPlacement], attempt: Int): () => Unit =
    val reached = reachable
    () =>
      for pack <- packs; invoker <- reached.get(pack.invoker) do
        invoker ! InvokerRequest(
          PackStored(id, attempt = attempt, pack = pack.pack, reports = 0, over = true),
          reports
        )

  /** The packs' outputs are stored, or never will be: they may send more. */
  def outputStored(packs: Vector[PackPlacement]): Unit =
    packs.foreach(pack => tell(pack, OutputStored(id, pack.pack)))

  private def tell(pack: PackPlacement, command: InvokerCommand): Unit =
    reachable.get(pack.invoker).foreach(_ ! InvokerRequest(command, reports))
