package burst.invoker.driver
package kubernetes

import io.fabric8.kubernetes.api.model.{
  APIResourceBuilder,
  APIResourceListBuilder,
  ContainerState,
  ContainerStateBuilder,
  ContainerStateRunning,
  ContainerStateTerminatedBuilder,
  ContainerStateWaitingBuilder,
  ContainerStatusBuilder,
  Pod,
  PodBuilder,
  PodConditionBuilder,
  PodStatus
}
import io.fabric8.kubernetes.client.informers.ResourceEventHandler
import io.fabric8.kubernetes.client.server.mock.KubernetesCrudDispatcher
import io.fabric8.kubernetes.client.utils.Serialization
import io.fabric8.kubernetes.client.{KubernetesClient, KubernetesClientException, NamespacedKubernetesClient}
import io.fabric8.mockwebserver.http.{MockResponse, RecordedRequest}
import java.nio.file.Path
import java.util.concurrent.{ConcurrentHashMap, Executors, TimeUnit}
import java.util.function.UnaryOperator
import scala.annotation.tailrec
import scala.jdk.CollectionConverters.*
import scala.util.{Random, Try}

/** An API server and one node. `resizes`: whether it can change the limits of pods. */
final class MockCluster(val runtime: Path, resizes: Boolean = true) extends TestCluster:
  private val server = ApiServer(resizes)

  def url: String = server.url

  def image: String = TestKubelet.Image.Good
  def connect(): NamespacedKubernetesClient = server.connect()

  val client: NamespacedKubernetesClient = connect()
  private val kubelet = TestKubelet(connect(), runtime)

  def kill(name: String): Unit = kubelet.kill(name)
  def runs(name: String): Boolean = kubelet.runs(name)

  def close(): Unit =
    kubelet.close()
    client.close()
    server.close()

/** Adds what the library's server lacks: pods' `resize`, and the list of resources. */
private[kubernetes] final class PodDispatcher(resizes: Boolean) extends KubernetesCrudDispatcher:
  override def handleGet(path: String): MockResponse =
    if path != "/api/v1" then super.handleGet(path)
    else
      val names = List("pods", "secrets") ++ Option.when(resizes)("pods/resize")
      val resources = names.map(APIResourceBuilder().withName(_).build()).asJava
      val list = APIResourceListBuilder().withGroupVersion("v1").withResources(resources).build()
      MockResponse().setResponseCode(200).setBody(Serialization.asJson(list))

  override def handlePatch(request: RecordedRequest): MockResponse =
    val path = request.getPath.stripSuffix("/resize")
    super.handlePatch(
      RecordedRequest(request.getHttpVersion, request.method, path, request.getHeaders, request.getBody)
    )

/** Runs each pod as a real runtime, a process with an address of its own on this machine, and reports as
  * kubelets do: the address, what runs, how it ended. A deleted pod disappears only when it has ended; until
  * then a finalizer holds it. Image failures have names here: see `TestKubelet.Image`.
  */
private final class TestKubelet(client: KubernetesClient, runtime: Path) extends AutoCloseable:
  import TestKubelet.*

  private val work = Executors.newSingleThreadExecutor()
  private val processes = ConcurrentHashMap[String, Option[Process]]()
  private val network = s"127.${64 + Random.nextInt(128)}.${Random.nextInt(256)}"
  private var hosts = 0

  private val informer = client
    .pods()
    .inform(new ResourceEventHandler[Pod]:
      override def onAdd(pod: Pod): Unit = enqueue(pod)
      override def onUpdate(before: Pod, pod: Pod): Unit = enqueue(pod)
      override def onDelete(pod: Pod, unknown: Boolean): Unit = kill(pod.getMetadata.getName))

  def runs(name: String): Boolean = process(name).exists(_.isAlive)

  /** Kills the pod's process as a crash would. */
  def kill(name: String): Unit = process(name).foreach: process =>
    process.destroyForcibly().waitFor()

  private def report(name: String)(change: PodStatus => PodStatus): Unit =
    val changed: UnaryOperator[Pod] = pod =>
      PodBuilder(pod).withStatus(change(Option(pod.getStatus).getOrElse(PodStatus()))).build()
    persist(client.pods().withName(name).editStatus(changed))

  def close(): Unit =
    informer.close()
    work.shutdown()
    work.awaitTermination(10, TimeUnit.SECONDS)
    processes.keySet.forEach(kill(_))
    client.close()

  /** Repeats the edit until nobody else has changed the pod in between. */
  @tailrec private def persist(edit: => Pod): Unit =
    val conflict =
      try
        val _ = edit
        false
      catch case problem: KubernetesClientException if problem.getCode == Conflict => true
    if conflict then persist(edit)

  private def process(name: String): Option[Process] = Option(processes.get(name)).flatten

  private def enqueue(pod: Pod): Unit =
    val _ = Try(work.execute(() => Try(sync(pod)).failed.foreach(_.printStackTrace())))

  private def sync(pod: Pod): Unit =
    val name = pod.getMetadata.getName
    val image = pod.getSpec.getContainers.get(0).getImage
    if pod.getMetadata.getDeletionTimestamp != null then
      if image != Image.Unreachable then
        kill(name)
        release(name)
    else if !processes.containsKey(name) then begin(pod, image)
    else if process(name).exists(_.isAlive) then
      if pod.getSpec.getActiveDeadlineSeconds != null then expire(name) else resize(pod)

  private def begin(pod: Pod, image: String): Unit =
    val name = pod.getMetadata.getName
    processes.put(name, None)
    image match
      case _ if !hasRoom(pod) =>
        val condition = PodConditionBuilder()
          .withType("PodScheduled")
          .withStatus("False")
          .withReason("Unschedulable")
          .withMessage("0/3 nodes are available: 3 Insufficient cpu.")
          .build()
        report(name)(_.edit().withPhase("Pending").withConditions(condition).build())
      case Image.Missing =>
        hold(name)
        // A pod has an address before its image is looked up.
        val why =
          List("ErrImagePull" -> "no such host", "ImagePullBackOff" -> s"Back-off pulling image \"$image\"")
        why.foreach: (reason, message) =>
          val waiting = ContainerStateWaitingBuilder().withReason(reason).withMessage(message).build()
          show(name, "Pending", Some(address()), ContainerStateBuilder().withWaiting(waiting).build())
      case _ => run(pod)

  private def address(): String =
    hosts += 1
    s"$network.$hosts"

  private def run(pod: Pod): Unit =
    val name = pod.getMetadata.getName
    hold(name)
    val host = address()
    val container = pod.getSpec.getContainers.get(0)
    // Without --keep-open it ends with this process in any case; and /tmp is shared here.
    val arguments =
      container.getArgs.asScala.takeWhile(_ != "--keep-open").map(_.replace("0.0.0.0", host))
    val builder = ProcessBuilder((runtime.toString +: arguments).asJava)
    builder.environment.clear()
    container.getEnv.forEach: variable =>
      val reference = variable.getValueFrom.getSecretKeyRef
      val data = client.secrets().withName(reference.getName).get()
      builder.environment.put(variable.getName, data.getStringData.get(reference.getKey))
    builder.redirectOutput(ProcessBuilder.Redirect.DISCARD).redirectError(ProcessBuilder.Redirect.DISCARD)
    val process = builder.start()
    processes.put(name, Some(process))
    show(name, "Running", Some(host), ContainerStateBuilder().withRunning(ContainerStateRunning()).build())
    process.onExit.thenAccept(ended => Try(work.execute(() => Try(end(name, ended.exitValue)))))
    resize(pod)

  private def end(name: String, code: Int): Unit =
    val terminated = ContainerStateTerminatedBuilder()
      .withExitCode(code)
      .withReason(if code == 0 then "Completed" else "Error")
      .build()
    val phase = if code == 0 then "Succeeded" else "Failed"
    show(name, phase, None, ContainerStateBuilder().withTerminated(terminated).build())

  private def expire(name: String): Unit =
    kill(name)
    report(name): status =>
      status.edit().withPhase(
        "Failed"
      ).withReason("DeadlineExceeded").withMessage("Pod was active too long").build()

  private def show(name: String, phase: String, host: Option[String], state: ContainerState): Unit =
    report(name): status =>
      val container = status.getContainerStatuses.asScala.headOption
        .fold(ContainerStatusBuilder().withName("runtime"))(ContainerStatusBuilder(_))
        .withState(state)
        .build()
      status.edit().withPhase(phase).withPodIP(host.getOrElse(status.getPodIP)).withContainerStatuses(
        container
      ).build()

  /** Gives a container the limits of its specification, if this node has room. */
  private def resize(pod: Pod): Unit =
    val requested = pod.getSpec.getContainers.get(0).getResources
    val shown = Option(client.pods().withName(pod.getMetadata.getName).get())
      .flatMap(_.getStatus.getContainerStatuses.asScala.headOption)
    if !hasRoom(pod) then refuse(pod)
    else if !shown.exists(_.getResources == requested) then
      report(pod.getMetadata.getName): status =>
        val container = ContainerStatusBuilder(status.getContainerStatuses.get(0)).withResources(requested)
        status.edit().withContainerStatuses(container.build()).build()

  private def refuse(pod: Pod): Unit =
    val generation = pod.getMetadata.getGeneration
    val condition = PodConditionBuilder()
      .withType("PodResizePending")
      .withStatus("True")
      .withReason("Infeasible")
      .withObservedGeneration(generation)
      .build()
    if !pod.getStatus.getConditions.contains(condition) then
      report(pod.getMetadata.getName)(_.edit().withConditions(condition).build())

  private def hasRoom(pod: Pod): Boolean =
    PodLimits.read(pod.getSpec.getContainers.get(0).getResources).exists(_.cpuMillis <= Cpus * 1000)

  private def hold(name: String): Unit = finalizers(name, List(Finalizer))
  private def release(name: String): Unit =
    if client.pods().withName(name).get() != null then finalizers(name, Nil)

  private def finalizers(name: String, names: List[String]): Unit =
    val change: UnaryOperator[Pod] = pod =>
      PodBuilder(pod).withMetadata(pod.getMetadata.edit().withFinalizers(names.asJava).build()).build()
    persist(client.pods().withName(name).edit(change))

object TestKubelet:
  private val Conflict = 409
  private val Finalizer = "burst.test/kubelet"

  /** The processors of the node. */
  val Cpus = 8

  object Image:
    val Good = "burst-runtime:latest"

    /** An image that no registry has. */
    val Missing = "registry.invalid/burst-missing:1"

    /** An image whose pod runs on a node that becomes unreachable when the pod is to be stopped. */
    val Unreachable = "burst-unreachable:1"
