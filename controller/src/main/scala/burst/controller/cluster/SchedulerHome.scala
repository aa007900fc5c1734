package burst.controller.cluster

import burst.controller.scheduler.SchedulerHost
import burst.protocol.link.{Hello, SessionEndpoint}
import org.apache.pekko.Done
import org.apache.pekko.actor.CoordinatedShutdown
import org.apache.pekko.actor.typed.scaladsl.AskPattern.*
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.apache.pekko.actor.typed.scaladsl.adapter.TypedActorSystemOps
import org.apache.pekko.actor.typed.{ActorRef, ActorSystem, Behavior, SupervisorStrategy}
import org.apache.pekko.cluster.MemberStatus
import org.apache.pekko.cluster.typed.{
  Cluster,
  ClusterSingleton,
  ClusterSingletonSettings,
  Down,
  SingletonActor
}
import org.apache.pekko.util.Timeout
import scala.concurrent.duration.FiniteDuration
import scala.concurrent.{ExecutionContext, Future}

/** Where the scheduler runs. `scheduler` reaches it in any case. */
private[controller] trait SchedulerHome:
  def scheduler: ActorRef[SchedulerNode.Command]

  /** Where the scheduler runs at present. */
  def host: SchedulerHost

  /** Stops the scheduler in an orderly way if it runs here; another controller takes over, if there is one.
    */
  def leave(limit: FiniteDuration): Future[Unit]

private[controller] object SchedulerHome:
  /** The name of the actor; `cluster.conf` uses it, too. */
  private val Name = "burst-scheduler"

  /** In a cluster the scheduler is a singleton among the controllers; a single controller runs it itself. */
  def of(node: Behavior[SchedulerNode.Command])(using system: ActorSystem[?]): SchedulerHome =
    // A defect of its parts restarts it, as if another controller had taken over.
    val supervised = Behaviors.supervise(node).onFailure[Exception](SupervisorStrategy.restart)
    if isClustered then Clustered(supervised) else Alone(supervised)

  /** Removes this controller from the cluster, whatever the others think; its process then ends. */
  def giveWay()(using system: ActorSystem[?]): Unit = if isClustered then
    val cluster = Cluster(system)
    cluster.manager ! Down(cluster.selfMember.address)

  /** The scheduler has ended here. It is told to when this controller leaves, and otherwise only by a
    * controller that has removed this one from the cluster, and may have ended before it could say so: then
    * this controller would be a member without a scheduler, for which all others wait.
    */
  def ended()(using system: ActorSystem[?]): Unit =
    if isClustered && Cluster(system).selfMember.status == MemberStatus.Up then giveWay()

  /** Whether there may be other controllers, and invokers are separate processes. */
  def isClustered(using system: ActorSystem[?]): Boolean =
    system.settings.config.getString("pekko.actor.provider") == "cluster"

  private final class Alone(node: Behavior[SchedulerNode.Command])(using system: ActorSystem[?])
      extends SchedulerHome:
    val scheduler: ActorRef[SchedulerNode.Command] = system.systemActorOf(node, Name)
    def host: SchedulerHost = SchedulerHost.Here

    def leave(limit: FiniteDuration): Future[Unit] =
      given Timeout = Timeout(limit)
      scheduler.ask[Done](SchedulerNode.Stop(_)).map(_ => ())(using system.executionContext)

  private final class Clustered(node: Behavior[SchedulerNode.Command])(using system: ActorSystem[?])
      extends SchedulerHome:
    val scheduler: ActorRef[SchedulerNode.Command] = ClusterSingleton(system).init(
      SingletonActor(node, Name)
        .withStopMessage(SchedulerNode.Stop(system.ignoreRef))
        .withSettings(ClusterSingletonSettings(system))
    )

    private val cluster = Cluster(system)

    def host: SchedulerHost =
      if cluster.state.members.forall(VersionCheck.knowsIds) then SchedulerHost.OnSomeController
      else SchedulerHost.OfFormerRelease

    // Invokers know the controllers' addresses, not which of them has the scheduler.
    system.systemActorOf(
      // messages from other nodes are not checked for their types
      Behaviors.receiveMessagePartial[Any] { case hello: Hello =>
        scheduler ! hello
        Behaviors.same
      }.narrow[Hello],
      SessionEndpoint.Name
    )

    def leave(limit: FiniteDuration): Future[Unit] =
      given ExecutionContext = system.executionContext
      CoordinatedShutdown(system.toClassic).run(CoordinatedShutdown.ClusterLeavingReason).map(_ => ())
