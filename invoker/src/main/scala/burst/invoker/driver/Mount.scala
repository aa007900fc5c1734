package burst.invoker.driver

import io.circe.Encoder

/** A directory of the machine that every pack sees, as the operator configured it. */
final case class Mount(source: String, target: String, readOnly: Boolean) derives Encoder.AsObject:
  /** Whether packs see it under another name than the machine does. */
  def isElsewhere: Boolean = source != target

object Mount:
  /** The key `mounts` of a driver. */
  def read(settings: DriverSettings): Vector[Mount] =
    settings.strings("mounts").map(text => settings.parsed("mounts", parse(text)))

  /** Parses `/host/path:/container/path[:ro|rw]`; writable is the default, as everywhere with Docker.
    * Redundant slashes are removed.
    */
  def parse(text: String): Either[UnreadableSetting, Mount] = text.split(':').toList match
    case source :: target :: mode =>
      val parsed =
        for
          from <- normal(source)
          to <- normal(target)
          readOnly <- mode match
            case List("ro") => Some(true)
            case Nil | List("rw") => Some(false)
            case _ => None
        yield Mount(from, to, readOnly)
      parsed.toRight(refused(text))
    case _ => Left(refused(text))

  /** A path with '..' is rejected: where it leads depends on links. */
  private def normal(path: String): Option[String] =
    val names = path.split('/').filter(_.nonEmpty)
    Option.when(path.startsWith("/") && !names.exists(Set(".", "..")))(names.mkString("/", "/", ""))

  private def refused(text: String) =
    val advice = "write /host/path:/container/path, without '..', and with :ro or :rw after it"
    UnreadableSetting(text, "not a mount", advice)
