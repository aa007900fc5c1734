package burst.simulator

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import org.apache.commons.csv.CSVFormat
import org.knowm.xchart.BitmapEncoder.BitmapFormat
import org.knowm.xchart.style.Styler.LegendPosition
import org.knowm.xchart.style.markers.SeriesMarkers
import org.knowm.xchart.{BitmapEncoder, XYChartBuilder}
import scala.util.Using

/** A line of a plot. */
final case class Line(name: String, points: Vector[(Double, Double)])

/** Writes tables as CSV and lines as pictures into one directory. */
final class Results(directory: Path):
  Files.createDirectories(directory)

  /** Writes rows that have the same columns, each cell with the name of its column. */
  def table(name: String, rows: Seq[Seq[(String, Any)]]): Unit =
    val heads = rows.head.map(_._1)
    val cells = rows.map(_.map((_, value) => shown(value)))
    println(s"\n$name\n${heads.mkString(" | ")}")
    cells.foreach(row => println(row.mkString(" | ")))
    Using.resource(Files.newBufferedWriter(directory.resolve(s"$name.csv"), UTF_8)) { writer =>
      val printer = CSVFormat.DEFAULT.builder.setHeader(heads*).setRecordSeparator('\n').get.print(writer)
      cells.foreach(row => printer.printRecord(row*))
    }

  def plot(name: String, title: String, x: String, y: String, lines: Seq[Line], log: Boolean = false): Unit =
    val chart =
      XYChartBuilder().width(800).height(500).title(title).xAxisTitle(x).yAxisTitle(y).build()
    chart.getStyler.setLegendPosition(LegendPosition.OutsideE)
    chart.getStyler.setXAxisLogarithmic(log).setYAxisLogarithmic(log)
    lines.foreach { line =>
      chart
        .addSeries(line.name, line.points.map(_._1).toArray, line.points.map(_._2).toArray)
        .setMarker(SeriesMarkers.NONE)
    }
    BitmapEncoder.saveBitmap(chart, directory.resolve(s"$name.png").toString, BitmapFormat.PNG)

  /** Runs `work` in a directory that exists only meanwhile. */
  def temporarily[A](name: String)(work: Path => A): A =
    val directory = Files.createTempDirectory(name)
    try work(directory)
    finally
      Using.resource(Files.walk(directory))(
        _.sorted(java.util.Comparator.reverseOrder()).forEach(Files.delete)
      )

  private def shown(value: Any): String = value match
    case number: Double if number.abs >= 100 => f"$number%.0f"
    case number: Double => f"$number%.3f"
    case other => other.toString
