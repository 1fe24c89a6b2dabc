package headway.bench;

import java.io.OutputStream;
import java.io.StringReader;
import javax.xml.transform.Templates;
import javax.xml.transform.TransformerException;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.stream.StreamResult;
import javax.xml.transform.stream.StreamSource;

/** Xalan turns XML into HTML by XSLT. An item is one document of 120 entries. */
final class Xalan implements Program {
  private static final String STYLE =
      """
      <xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
        <xsl:key name="by-kind" match="entry" use="@kind"/>
        <xsl:template match="/list"><html><body>
          <xsl:for-each select="entry[generate-id() = generate-id(key('by-kind', @kind)[1])]">
            <xsl:sort select="@kind"/>
            <h1><xsl:value-of select="@kind"/> <xsl:value-of select="sum(key('by-kind', @kind)/@price)"/></h1>
            <xsl:apply-templates select="key('by-kind', @kind)"><xsl:sort select="@price" data-type="number"/></xsl:apply-templates>
          </xsl:for-each></body></html>
        </xsl:template>
        <xsl:template match="entry">
          <p class="{translate(@kind, 'abc', 'ABC')}"><xsl:value-of select="substring-before(concat(., ' '), ' ')"/>
          <xsl:value-of select="count(preceding-sibling::entry[@kind = current()/@kind])"/></p>
        </xsl:template>
      </xsl:stylesheet>
      """;

  private Templates templates;

  @Override
  public void prepare(int threads, int items) throws TransformerException {
    // By name: the JDK has a processor of its own.
    TransformerFactory factory = TransformerFactory.newInstance("org.apache.xalan.processor.TransformerFactoryImpl", null);
    templates = factory.newTemplates(new StreamSource(new StringReader(STYLE)));
  }

  @Override
  public void run(int threads, int items) throws Exception {
    Workers.run(
        threads,
        items,
        (worker, item) ->
            templates
                .newTransformer()
                .transform(
                    new StreamSource(new StringReader(document(item))), new StreamResult(OutputStream.nullOutputStream())));
  }

  private static String document(int item) {
    Text text = new Text(item);
    StringBuilder document = new StringBuilder("<list>");
    for (int i = 0; i < 120; i++) {
      document
          .append("<entry kind='" + "abcdefgh".charAt(text.number(8)) + "' price='" + text.number(1000) + "'>")
          .append(text.words(12))
          .append("</entry>");
    }
    return document.append("</list>").toString();
  }
}
