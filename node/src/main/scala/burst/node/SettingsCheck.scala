package burst.node

import com.typesafe.config.ConfigValueType.{BOOLEAN, LIST, NUMBER, OBJECT, STRING}
import com.typesafe.config.{Config, ConfigException, ConfigFactory, ConfigObject, ConfigUtil, ConfigValue}
import scala.jdk.CollectionConverters.*

/** Checks what an operator has set below `burst` against the existing settings, which all have a default: a
  * mistake in a name or a value stops the start, rather than having no effect.
  *
  * @param known
  *   all settings with their defaults
  */
private[node] final class SettingsCheck(known: Config):
  import SettingsCheck.*

  /** Throws `SetupException`. */
  def check(set: Config): Unit = if set.hasPath("burst") then
    walk(Vector("burst"), set.getObject("burst"), known.getObject("burst"))

  private def walk(path: Vector[String], set: ConfigObject, known: ConfigObject): Unit =
    set.asScala.foreach: (name, value) =>
      val setting = path :+ name
      (value, known.get(name)) match
        case _ if Foreign(setting) => ()
        case (_, null) => throw SetupException(unknown(leaf(setting, value)))
        case (_: ConfigObject, default: ConfigObject) if isDispatcher(default) => ()
        case (section: ConfigObject, default: ConfigObject) => walk(setting, section, default)
        case (_, _: ConfigObject) =>
          throw SetupException(s"${text(setting)} is a section, and no setting itself.")
        case (_, default) =>
          kindOf(name, default).filterNot(_.fits(value)).foreach: kind =>
            throw SetupException(s"${text(setting)} must be ${kind.what}.")

  /** The path of a setting in it, if it is a section. */
  private def leaf(path: Vector[String], value: ConfigValue): Vector[String] = value match
    case section: ConfigObject if !section.isEmpty =>
      val (name, inner) = section.asScala.minBy(_._1)
      leaf(path :+ name, inner)
    case _ => path

  private def unknown(path: Vector[String]): String =
    val all = leaves(Vector("burst"), known.getObject("burst"))
    // An operator who has forgotten the section has the name right.
    val nearest = all.filter(_.last == path.last).minByOption(distance(path, _)).orElse:
      all.map(other => (distance(path, other), other)).minByOption(_._1).collect:
        case (edits, other) if edits <= text(path).length / 4 => other
    val advice = nearest match
      case Some(other) => s"did you mean ${text(other)}?"
      case None => "the reference.conf of each module has them all."
    s"there is no setting ${text(path)}: $advice"

  private def leaves(path: Vector[String], section: ConfigObject): Vector[Vector[String]] =
    section.asScala.toVector.flatMap: (name, value) =>
      value match
        case inner: ConfigObject => leaves(path :+ name, inner)
        case _ => Vector(path :+ name)

private object SettingsCheck:
  /** Sections that are checked elsewhere: names are the operator's, or those of a previous release
    * (`node.conf`), or settings are Pekko's.
    */
  private val Foreign: Set[Vector[String]] =
    Set("backends", "scheduler.backends", "scheduler.default-backend", "http.server")
      .map(section => s"burst.$section".split('.').toVector)

  /** Pekko has more settings for a dispatcher than are listed here. */
  private def isDispatcher(section: ConfigObject): Boolean = section.containsKey("executor")

  /** Durations of which the first must not exceed the second; then sizes. */
  private val Times = Vector(
    "flare-defaults.timeout" -> "limits.timeout",
    "flare-defaults.group-idle-timeout" -> "limits.group-idle-timeout",
    "http.blocking-limit" -> "http.server.request-timeout",
    "http.body-timeout" -> "http.server.request-timeout",
    "http.server.request-timeout" -> "http.server.idle-timeout",
    "invoker.heartbeat-interval" -> "invokers.contact-timeout"
  )
  private val Sizes = Vector("limits.chunk-size-min" -> "limits.chunk-size-max")

  /** Durations that flares wait for by timers, which in Pekko cannot exceed 248 days. */
  private val Waits = Vector("limits.timeout", "limits.group-idle-timeout", "scheduler.queue-deadline")
  private val LongestDays = 200L

  /** Throws `SetupException`. */
  def contradictions(config: Config): Unit =
    val burst = config.getConfig("burst")
    def ordered(amount: String => Long)(less: String, more: String): Unit =
      if burst.hasPath(less) && burst.hasPath(more) && amount(less) > amount(more) then
        throw SetupException(
          s"burst.$less (${burst.getString(less)}) must not be more than burst.$more (${burst.getString(more)})."
        )
    Times.foreach(ordered(burst.getDuration(_).toNanos)(_, _))
    Sizes.foreach(ordered(burst.getBytes(_))(_, _))
    for wait <- Waits if burst.hasPath(wait) && burst.getDuration(wait).toDays >= LongestDays do
      throw SetupException(s"burst.$wait (${burst.getString(wait)}) must be less than $LongestDays days.")

  /** The expected form of a value. */
  private enum Kind(val what: String, val fits: ConfigValue => Boolean):
    case Flag extends Kind("true or false", reads((c, k) => c.getBoolean(k) || true))
    case Whole
        extends Kind("a whole number, 0 or more", value => decimal(value).exists(n => n >= 0 && n.isWhole))
    case Port extends Kind("a port, 0 to 65535", decimal(_).exists(n => n.isWhole && n >= 0 && n <= 65535))
    case Fraction extends Kind("a number, 0 or more", decimal(_).exists(_ >= 0))
    case Time extends Kind("a time such as 500ms, 60s or 5m", reads((c, k) => c.getDuration(k).toNanos >= 0))
    case Size extends Kind("a size such as 64KiB or 8MiB", reads((c, k) => c.getBytes(k) >= 0))
    case Several extends Kind("a list, as in [\"a\", \"b\"]", _.valueType == LIST)
    case Plain extends Kind("a plain value", value => value.valueType != OBJECT && value.valueType != LIST)

  private val Time = """\d+(\.\d+)?(ns|us|ms|s|m|h|d)""".r
  private val Size = """\d+(\.\d+)?(B|kB|MB|GB|KiB|MiB|GiB)""".r

  /** The kind of the default. */
  private def kindOf(name: String, default: ConfigValue): Option[Kind] = default.valueType match
    case BOOLEAN => Some(Kind.Flag)
    case NUMBER if name == "port" || name.endsWith("-port") => Some(Kind.Port)
    case NUMBER => Some(if written(default).contains('.') then Kind.Fraction else Kind.Whole)
    case LIST => Some(Kind.Several)
    case STRING =>
      default.unwrapped.toString match
        case Time(_*) => Some(Kind.Time)
        case Size(_*) => Some(Kind.Size)
        case _ => Some(Kind.Plain)
    case _ => None

  /** As it is written in the file: 1.0 is not 1. */
  private def written(value: ConfigValue): String =
    ConfigFactory.empty().withValue("it", value).getString("it")

  private def decimal(value: ConfigValue): Option[BigDecimal] = value.valueType match
    case NUMBER | STRING => scala.util.Try(BigDecimal(value.unwrapped.toString)).toOption
    case _ => None

  private def reads(read: (Config, String) => Boolean)(value: ConfigValue): Boolean =
    try read(ConfigFactory.empty().withValue("value", value), "value")
    catch case _: ConfigException => false

  private def text(path: Vector[String]): String = ConfigUtil.joinPath(path*)

  /** How many characters have to be inserted, removed or replaced. */
  private def distance(one: Vector[String], other: Vector[String]): Int =
    val (a, b) = (text(one), text(other))
    a.foldLeft((0 to b.length).toVector): (row, c) =>
      b.indices.scanLeft(row.head + 1): (left, i) =>
        (left + 1).min(row(i + 1) + 1).min(row(i) + (if b(i) == c then 0 else 1))
      .toVector
    .last
