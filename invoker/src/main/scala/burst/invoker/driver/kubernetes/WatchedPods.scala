package burst.invoker.driver
package kubernetes

import burst.node.SetupException
import io.fabric8.kubernetes.api.model.Pod
import io.fabric8.kubernetes.client.informers.{ResourceEventHandler, SharedIndexInformer}
import java.util.concurrent.{ConcurrentHashMap, TimeUnit}
import scala.concurrent.duration.FiniteDuration
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.jdk.CollectionConverters.*
import scala.util.control.NonFatal

/** One pod, and those who wait for it to reach a state. */
private[driver] final class WatchedPod(val name: String):
  private final class Waiting[A](read: PodSnapshot => Option[A]):
    val answer: Promise[Option[A]] = Promise()
    def check(snapshot: PodSnapshot): Unit = read(snapshot).foreach(found => answer.trySuccess(Some(found)))

  /** Completes when the API has answered its creation: deleting it before that would have no effect. */
  val creationAnswered: Promise[Unit] = Promise()

  private var last = Option.empty[PodSnapshot]
  private var waiting = Vector.empty[Waiting[?]]

  /** Completes with how it ended. */
  val exit: Future[ContainerExit] = await(PodState.exit).answer.future
    .map(_.getOrElse(ContainerExit(None, oomKilled = false)))(using ExecutionContext.parasitic)

  def snapshot: Option[PodSnapshot] = synchronized(last)
  def isDeleted: Boolean = snapshot.contains(PodSnapshot.Deleted)

  /** Returns the first value that `read` finds in the pod's states; nothing if there is none within the
    * bound.
    */
  def until[A](read: PodSnapshot => Option[A], bound: FiniteDuration)(using
      ExecutionContext
  ): Future[Option[A]] =
    val waiting = await(read)
    Delay.after(bound)(waiting.answer.trySuccess(None))
    waiting.answer.future

  def update(snapshot: PodSnapshot): Unit = synchronized:
    if !last.contains(PodSnapshot.Deleted) then
      last = Some(snapshot)
      waiting.foreach(_.check(snapshot))
      waiting = waiting.filterNot(_.answer.isCompleted)

  private def await[A](read: PodSnapshot => Option[A]): Waiting[A] = synchronized:
    val one = Waiting(read)
    last.foreach(one.check)
    if !one.answer.isCompleted then waiting :+= one
    one

/** All pods of this owner, by one watch. A pod is expected before it is requested, so that no change of it is
  * missed. Blocks until the watch is established; throws `SetupException` if that fails.
  */
private[driver] final class WatchedPods(cluster: KubernetesCluster, owner: String) extends AutoCloseable:
  private val pods = ConcurrentHashMap[String, WatchedPod]()

  private val informer: SharedIndexInformer[Pod] = cluster.pods
    .withLabel(PackPod.OwnerLabel, owner)
    .runnableInformer(0)
    // The watch is resumed however it breaks.
    .exceptionHandler((started, _) => started)
    .addEventHandler(new ResourceEventHandler[Pod]:
      override def onAdd(pod: Pod): Unit = update(pod)
      override def onUpdate(before: Pod, pod: Pod): Unit = update(pod)
      override def onDelete(pod: Pod, lastStateUnknown: Boolean): Unit =
        update(pod)
        lost(pod.getMetadata.getName))

  try
    val _ = informer.start().toCompletableFuture.get(cluster.callTimeout.toMillis, TimeUnit.MILLISECONDS)
  catch
    case NonFatal(problem) =>
      informer.close()
      throw SetupException(
        s"the pods in namespace '${cluster.namespace}' cannot be watched (${KubernetesCluster.reason(problem)}): " +
          "give the invoker's service account the role in deploy/k8s/rbac.yaml.",
        problem
      )

  def expect(name: String): WatchedPod = pods.computeIfAbsent(name, WatchedPod(_))

  /** Called when it is certain that the pod no longer exists. */
  def lost(name: String): Unit = Option(pods.remove(name)).foreach(_.update(PodSnapshot.Deleted))

  /** The pods that were expected and are not gone. */
  def all: Vector[WatchedPod] = pods.values.asScala.toVector

  /** This owner's pods that nobody here has requested; they are expected from now on. */
  def orphans(): Vector[WatchedPod] =
    val names = informer.getStore.list().asScala.map(_.getMetadata.getName).filterNot(pods.containsKey)
    names.toVector.map: name =>
      val pod = expect(name)
      pod.creationAnswered.trySuccess(())
      pod

  /** The users of pods that have not ended, including those of this owner's earlier process. */
  def users: Set[Long] =
    val live = informer.getStore.list().asScala.filter(pod => PodState.exit(PodSnapshot.Present(pod)).isEmpty)
    live.flatMap(PackPod.user).toSet

  def close(): Unit = informer.close()

  private def update(pod: Pod): Unit =
    Option(pods.get(pod.getMetadata.getName)).foreach(_.update(PodSnapshot.Present(pod)))
