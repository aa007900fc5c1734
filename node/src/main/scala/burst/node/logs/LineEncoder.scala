package burst.node.logs

import ch.qos.logback.classic.encoder.PatternLayoutEncoder
import ch.qos.logback.classic.pattern.ThrowableProxyConverter
import ch.qos.logback.classic.spi.ILoggingEvent
import io.circe.Json
import io.circe.syntax.*
import java.nio.charset.StandardCharsets.UTF_8
import scala.jdk.CollectionConverters.*

/** Writes a line of the log by a pattern; or, if its `format` is `json`, as an object: `time`, `level`,
  * `logger`, `message`, `thread`, the ids it refers to ([[LogIds]]), and `exception` with its stack.
  * Logback's own JSON encoder puts the ids into a list of objects, which no tool can search.
  *
  * What is logged may come from anybody: as text, a message of several lines is continued indented, so that
  * none can be taken for another entry, and no control character reaches a terminal.
  */
final class LineEncoder extends PatternLayoutEncoder:
  import LineEncoder.*

  private var isJson = false
  private val thrown = ThrowableProxyConverter()

  /** `text` or `json`, as set in logback.xml. */
  def setFormat(format: String): Unit = isJson = format == "json"

  override def start(): Unit =
    thrown.setContext(getContext)
    thrown.setOptionList(java.util.List.of("full"))
    thrown.start()
    super.start()

  override def encode(event: ILoggingEvent): Array[Byte] =
    if isJson then json(event) else plain(super.encode(event))

  private def plain(lines: Array[Byte]): Array[Byte] =
    // Bytes that are not ASCII may be part of a control character as well: they are negative.
    val isPlain = !lines.iterator.take(lines.length - 1).exists(byte => byte < ' ' || byte == Delete)
    if isPlain then lines
    else
      val text = String(lines, UTF_8)
      val content = text.stripLineEnd
      val ending = text.substring(content.length)
      val joined = NewLine.replaceAllIn(content, "\n  ")
      (Control.replaceAllIn(joined, "?") + ending).getBytes(UTF_8)

  private def json(event: ILoggingEvent): Array[Byte] =
    val ids = Option(event.getKeyValuePairs).fold(Vector.empty)(_.asScala.toVector)
    val fields = Vector(
      "time" -> event.getInstant.toString.asJson,
      "level" -> event.getLevel.toString.asJson,
      "logger" -> event.getLoggerName.asJson,
      "message" -> event.getFormattedMessage.asJson,
      "thread" -> event.getThreadName.asJson
    ) ++ ids.map(pair => pair.key -> String.valueOf(pair.value).asJson)
      ++ Option(event.getThrowableProxy).map(_ => "exception" -> thrown.convert(event).asJson)
    (Json.fromFields(fields).noSpaces + "\n").getBytes(UTF_8)

private object LineEncoder:
  private val Delete = 0x7f
  private val NewLine = "\\R(?!\t)".r
  private val Control = "[\\p{Cc}&&[^\t\n]]".r
