package burst.invoker.driver
package docker

import burst.node.SetupException
import burst.protocol.RuntimeInfo
import com.github.dockerjava.api.DockerClient
import com.github.dockerjava.api.async.ResultCallback
import com.github.dockerjava.api.exception.NotFoundException
import com.github.dockerjava.api.model.{AuthConfig, PullResponseItem, WaitResponse}
import com.github.dockerjava.core.{DefaultDockerClientConfig, DockerClientImpl, RemoteApiVersion}
import com.github.dockerjava.zerodep.ZerodepDockerHttpClient
import java.time.Duration
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicBoolean
import scala.concurrent.duration.FiniteDuration
import scala.concurrent.{blocking, ExecutionContext, Future, Promise}
import scala.jdk.CollectionConverters.*
import scala.util.control.NonFatal
import scala.util.{Failure, Success, Try}

/** The connection to one Docker daemon. There are two clients: `calls` times out if there is no answer,
  * `waits` is for calls that take as long as they need, such as waiting for a container's end.
  */
final class DockerDaemon private (
    val calls: DockerClient,
    waits: DockerClient,
    val cpus: Int,
    val runtime: RuntimeInfo
):
  /** Completes `exit` when the container has ended; asks again if the daemon breaks off. */
  private[driver] def awaitExit(id: String, exit: Promise[ContainerExit])(using ExecutionContext): Unit =
    val callback = new ResultCallback.Adapter[WaitResponse]:
      private val concluded = AtomicBoolean()
      @volatile private var code = Option.empty[Int]
      override def onNext(answer: WaitResponse): Unit = code = Option(answer.getStatusCode).map(_.intValue)
      override def onError(problem: Throwable): Unit = close()
      // Always called at the end, on a thread that has been interrupted: it must not be used further.
      override def close(): Unit =
        super.close()
        if concluded.compareAndSet(false, true) && !exit.isCompleted then
          val _ = Future(blocking(conclude(id, code, exit)))
    try
      val _ = waits.waitContainerCmd(id).exec(callback)
    catch case NonFatal(_) => conclude(id, None, exit)

  private def conclude(id: String, code: Option[Int], exit: Promise[ContainerExit])(using
      ExecutionContext
  ): Unit =
    Try(calls.inspectContainerCmd(id).exec().getState) match
      case Success(state) if !state.getRunning =>
        val status = code.orElse(Option(state.getExitCodeLong).map(_.toInt))
        val _ = exit.trySuccess(ContainerExit(status, Option(state.getOOMKilled).exists(_.booleanValue)))
      case Failure(_: NotFoundException) =>
        val _ = exit.trySuccess(ContainerExit(code, oomKilled = false))
      case _ =>
        TimeUnit.MILLISECONDS.sleep(DockerDaemon.RetryMillis)
        if !exit.isCompleted then awaitExit(id, exit)

  /** Pulls an image, without a timeout; `callback` receives the progress, and can cancel it. Without
    * credentials: users choose what is pulled, and the client would present this machine's user's login to
    * the registry.
    */
  private[driver] def pull(image: String, callback: ResultCallback[PullResponseItem]): Unit =
    val _ = waits.pullImageCmd(image).withAuthConfig(AuthConfig()).exec(callback)

  def close(): Unit =
    Try(calls.close())
    val _ = Try(waits.close())

object DockerDaemon:
  private val RetryMillis = 500L

  /** Connects and makes sure that the image exists. Throws `SetupException`. */
  def connect(settings: DockerSettings): DockerDaemon =
    val calls = client(settings, Some(settings.callTimeout))
    val cpus =
      try calls.infoCmd().exec().getNCPU.intValue
      catch
        case NonFatal(problem) =>
          throw SetupException(silent(DockerDriver.reason(problem)), problem)
    val labels =
      try Option(calls.inspectImageCmd(settings.image).exec().getConfig.getLabels)
      catch
        case _: NotFoundException =>
          throw SetupException(
            s"image '${settings.image}' is not on this machine: run `make image` or pull it, or set " +
              "burst.invoker.docker.image."
          )
    val known = labels.fold(Map.empty[String, String])(_.asScala.toMap)
    DockerDaemon(calls, client(settings, None), cpus, DockerDriver.runtimeInfo(settings.image, known))

  /** The message about a daemon that does not answer, for this reason. */
  private[driver] def silent(reason: String): String =
    val remedy =
      if reason.contains("Permission denied") then
        "this user may not, so join the group that its socket belongs to (docker, as a rule) and log in anew"
      else "start its daemon"
    s"Docker does not answer ($reason): $remedy, or set burst.invoker.driver = process."

  /** Without a version in its paths the daemon uses its own newest one: old and new daemons alike reject
    * versions outside their range.
    */
  private def client(settings: DockerSettings, timeout: Option[FiniteDuration]): DockerClient =
    val builder = DefaultDockerClientConfig
      .createDefaultConfigBuilder()
      .withApiVersion(RemoteApiVersion.UNKNOWN_VERSION)
    settings.host.foreach(builder.withDockerHost)
    val config = builder.build()
    val http = ZerodepDockerHttpClient
      .Builder()
      .dockerHost(config.getDockerHost)
      .sslConfig(config.getSSLConfig)
      .connectionTimeout(Duration.ofMillis(settings.callTimeout.toMillis))
    timeout.foreach(bound => http.responseTimeout(Duration.ofMillis(bound.toMillis)))
    DockerClientImpl.getInstance(config, http.build())
