package burst.invoker.driver

import burst.node.SetupException
import burst.protocol.RuntimeInfo
import com.typesafe.config.Config
import java.nio.file.Path
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.{Duration, DurationLong, FiniteDuration}

/** A kind of driver, named by `burst.invoker.driver`. */
trait DriverKind:
  /** The name in the settings; the driver's own settings are in the section of that name under
    * `burst.invoker`.
    */
  def name: String

  /** Whether packs run on the invoker's machine. */
  def isLocal: Boolean = true

  /** Whether packs also share its address. */
  def sharesAddress: Boolean = false

  /** Reads those settings, and connects the driver to what starts its containers; blocks. Throws
    * `SetupException` with what to do about a problem, or `ConfigException` for a key that is missing or of
    * the wrong type.
    */
  def connect(settings: DriverSettings, host: DriverHost): ConnectedDriver

/** A driver that can start containers, and what their packages must be built for. */
final case class ConnectedDriver(driver: Driver, runtime: RuntimeInfo)

/** What an invoker provides to its driver: a `directory` that nobody else uses, the runtime's program, how
  * many workers run at once (`slots`), which is also the maximum of one pack, the maximum number of
  * `containers`, and where packs of other machines reach this one (`advertise`), if known.
  */
trait DriverHost:
  def directory: Path
  def runtimeBinary: Path
  def slots: Int
  def containers: Int
  def advertise: Option[String]

  /** Threads for blocking work: as many as are needed, or a pool of `count` threads of that name. */
  def blocking: ExecutionContext
  def threads(name: String, count: Int): ExecutionContext

/** A setting whose text cannot be parsed: what it is not, and what to write instead. */
final case class UnreadableSetting(text: String, problem: String, advice: String):
  def sentence: String = s"'$text' is $problem: $advice"

/** The settings of one driver. */
final class DriverSettings(root: Config, kind: String):
  private val path = s"burst.invoker.$kind"
  val config: Config = root.getConfig(path)
  export config.{
    getBoolean as boolean,
    getDouble as double,
    getInt as int,
    getLong as long,
    getString as string
  }

  /** A key that may be left empty. */
  def optional(key: String): Option[String] = Some(string(key)).filter(_.nonEmpty)

  /** A number of which at least 1 is needed. */
  def atLeastOne(key: String): Int =
    val count = int(key)
    if count < 1 then throw SetupException(s"$path.$key is $count: give at least 1.")
    count

  def strings(key: String): Vector[String] = config.getStringList(key).toArray(Array.empty[String]).toVector

  def duration(key: String): FiniteDuration = DriverSettings.duration(config, key)

  /** The parsed value of a key, or a `SetupException` that explains what is wrong with it. */
  def parsed[A](key: String, result: Either[UnreadableSetting, A]): A =
    result.fold(problem => throw SetupException(s"$path.$key: ${problem.sentence}."), identity)

object DriverSettings:
  /** A duration in the coarsest unit, for messages; zero is left as it is, since it would be in days. */
  def duration(config: Config, key: String): FiniteDuration =
    val it = config.getDuration(key).toMillis.millis
    if it == Duration.Zero then it else it.toCoarsest
