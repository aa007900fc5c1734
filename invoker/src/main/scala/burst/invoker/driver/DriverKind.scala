package burst.invoker.driver

import burst.node.SetupException
import burst.protocol.RuntimeInfo
import com.typesafe.config.Config
import java.nio.file.Path
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.{Duration, DurationLong, FiniteDuration}

/** What `burst.invoker.driver` names. */
trait DriverKind:
  /** As in the settings, which has this driver's own under `burst.invoker` and the same name. */
  def name: String

  /** Whether packs are on the invoker's machine. */
  def isLocal: Boolean = true

  /** Whether they have its address as well. */
  def sharesAddress: Boolean = false

  /** Reads those settings, and connects the driver to what starts its containers; blocks. Throws
    * `SetupException` with what to do about it, or `ConfigException` for a key that is missing or of the
    * wrong type.
    */
  def connect(settings: DriverSettings, host: DriverHost): ConnectedDriver

/** A driver that can start containers, and what their packages must be built for. */
final case class ConnectedDriver(driver: Driver, runtime: RuntimeInfo)

/** What an invoker has for whichever driver it runs: a `directory` that is its alone, the runtime's program,
  * how many workers run at once (`slots`), which is how many a pack may have, how many `containers` there may
  * be, where packs of other machines reach this one (`advertise`), if that is known.
  */
trait DriverHost:
  def directory: Path
  def runtimeBinary: Path
  def slots: Int
  def containers: Int
  def advertise: Option[String]

  /** For what waits: as many threads as are needed, or so many of that name. */
  def blocking: ExecutionContext
  def threads(name: String, count: Int): ExecutionContext

/** A setting's text that does not say what it is there for: what it is not, and what to write. */
final case class UnreadableSetting(text: String, not: String, instead: String):
  def sentence: String = s"'$text' is $not: $instead"

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

  /** How many of something there are to be, of which one is needed. */
  def atLeastOne(key: String): Int =
    val count = int(key)
    if count < 1 then throw SetupException(s"$path.$key is $count: give at least 1.")
    count

  def strings(key: String): Vector[String] = config.getStringList(key).toArray(Array.empty[String]).toVector

  def duration(key: String): FiniteDuration = DriverSettings.duration(config, key)

  /** What a key's text stands for, or what is wrong with it. */
  def parsed[A](key: String, told: Either[UnreadableSetting, A]): A =
    told.fold(problem => throw SetupException(s"$path.$key: ${problem.sentence}."), identity)

object DriverSettings:
  /** In the unit that sentences tell it in; of zero that would be days. */
  def duration(config: Config, key: String): FiniteDuration =
    val it = config.getDuration(key).toMillis.millis
    if it == Duration.Zero then it else it.toCoarsest
